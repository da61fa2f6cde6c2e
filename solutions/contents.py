# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts and end with attention on Hopper, and with a GEMM that has 1.01 times the speed
# of cuBLAS on an H200 (4096×4096×4096, bf16). There you write the loops; page 14's kernel, all yours, has 0.97. You
# need Python, NumPy and a little PyTorch. Page 09 needs C++, and four of the seven bugs of page 21 are in CUDA C++; no
# other page needs either. Begin with [00](00_start.ipynb), then choose a path by what you want to end with. The
# [glossary](glossary.ipynb) defines the terms.
#
# A laptop with Linux, Windows with WSL, or a Linux container on a Mac can check every layout. Its simulator runs every
# kernel and reports wrong results and races. Measuring speed needs an NVIDIA GPU, sm_80 (Ampere) or newer; sm_90 is
# Hopper, sm_100 Blackwell. Times are estimates without the appendices; allow up to a third more.
#
# Run the two cells below (click one, then press Shift-Enter). The first shows the course's GEMMs. With `mma.sync` they
# reach 0.35 to 0.69 of cuBLAS's speed. With Hopper's WGMMA, page 15's GEMM matches cuBLAS at 2048 and from 4096 on;
# page 16's is within 1% or ahead at every size drawn. The second cell shows your points and what this machine can
# grade.

# %%
from tutorlib import show_figure

show_figure("ladder")

# %%
from tutorlib.notebook.course_table import show_contents

show_contents()
