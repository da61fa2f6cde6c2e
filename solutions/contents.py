# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# 24 pages in NVIDIA's CuTe DSL and cuTile. You begin with the algebra of layouts, and write kernels from page 02 on. On
# page 14 you write a whole Hopper GEMM: 0.97 of cuBLAS's speed on an H200 (4096×4096×4096, bf16). The last page builds
# attention; with a causal mask the course's kernel is 1.05 to 1.18 times as fast as torch's cuDNN.
#
# - **You need** Python, NumPy and a little PyTorch; C++ for page 09; enough CUDA C++ to read four of the seven bugs of
#   page 21. Linux, WSL or a Linux container on a Mac.
# - **No GPU is needed**: the course simulates every kernel, and reports wrong results and races. Only speed needs an
#   NVIDIA GPU: sm_80 (Ampere) or newer; sm_90 is Hopper. Page 17, for sm_100 (Blackwell), grades no speed.
# - **Begin** with [00](00_start.ipynb), then choose a path by what you want to end with. Times are estimates: allow a
#   tenth more, and two hours for the appendices. The [glossary](glossary.ipynb) defines the terms.
#
# Run the next cell (click it, then press Shift-Enter) for the list of pages, with your points.

# %%
from tutorlib.notebook.course_table import show_contents

show_contents()

# %% [markdown]
# How fast the course's GEMMs are on an H200, as fractions of cuBLAS's speed, for square matrices. Page 15's kernel has
# one tile size; page 16's chooser takes a configuration for each size.

# %%
from tutorlib import show_figure

show_figure("ladder")
