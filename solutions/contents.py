# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts, and write kernels from page 02 on. On page 14 you write a whole Hopper GEMM; on
# an H200 it has 0.97 of cuBLAS's speed (4096×4096×4096, bf16). Page 15's, whose loops you write, has 1.01. The last
# page is attention on Hopper. You need Python, NumPy and a little PyTorch; page 09 also C++, and four of the seven bugs
# of page 21 CUDA C++. Begin with [00](00_start.ipynb), then choose a path by what you want to end with. The
# [glossary](glossary.ipynb) defines the terms.
#
# Linux, WSL or a Linux container on a Mac is enough: the course simulates every kernel, and reports wrong
# results and races. Measuring speed needs an NVIDIA GPU, sm_80 (Ampere) or newer; sm_90 is Hopper, sm_100 Blackwell.
# Times are estimates; allow a tenth more, and two hours for the appendices.
#
# Run the two cells below (click one, then press Shift-Enter). The first shows the speeds of the course's GEMMs of
# square matrices on an H200, over cuBLAS's. With `mma.sync` they reach 0.35 to 0.66. With Hopper's WGMMA, page 15's has
# 0.56 to 0.78 up to 1536 and at 3072, else 1.00 to 1.03; page 16's chooser, with one configuration for each size, is
# ahead, or at most 2% behind. The second cell lists the pages, with your points and those that need a GPU.

# %%
from tutorlib import show_figure

show_figure("ladder")

# %%
from tutorlib.notebook.course_table import show_contents

show_contents()
