# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts and end with attention on Hopper and a GEMM that has 1.01 times the speed of
# cuBLAS on an H200 (4096×4096×4096, bf16). You need to know Python and NumPy, a little PyTorch, C++ for 09, but not
# CUDA. Begin with [00](00_start.ipynb), which takes ten minutes, then choose a path by its end. The
# [glossary](glossary.ipynb) defines the terms.
#
# A laptop with Linux, Windows with WSL, or a Linux container on a Mac can check every layout and, in a simulator,
# whether every kernel is right. Measuring their speed needs an NVIDIA GPU, sm_80 (Ampere) or newer; sm_90 is Hopper,
# sm_100 Blackwell. Times leave out the appendices; those of paths are rounded to half an hour.
#
# Run the two cells below (click one, then press Shift-Enter). The first shows the course's GEMMs. With Ampere's
# instruction, `mma.sync`, they reach 0.35 to 0.69 of cuBLAS's speed (left). With Hopper's WGMMA (right) page 15's
# reaches it at 2048 and from 4096 on; page 16's, which chooses its configuration by the shape, is within 1% or ahead
# everywhere. The second cell shows your points and what this machine can grade.

# %%
from tutorlib import show_figure

show_figure("ladder")

# %%
from tutorlib.notebook.course_table import show_contents

show_contents()
