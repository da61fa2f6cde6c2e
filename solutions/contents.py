# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts and end with attention on Hopper and a GEMM that has 1.02 times the speed of
# cuBLAS on an H200 (4096×4096×4096, bf16). You need to know Python, not CUDA or C++.
#
# You write kernels in three of NVIDIA's languages: cuTile and Tile C++, which compute with whole tiles, and the CuTe
# DSL, in which you program each thread. Each page is a notebook: you write the pieces, and `check` tells you at once
# whether each is right. Begin with [00](00_start.ipynb), which takes ten minutes and shows how. Then take the path that
# is yours; the [glossary](glossary.ipynb) defines the terms.
#
# The pages: layouts and first kernels (00 to 05), cuTile and Tile C++ (06 to 09), a GEMM on tensor cores (10 to 13),
# Hopper and Blackwell (14 to 17), epilogues, layers and launches (18 to 20), a bug hunt (21), attention (22, 23).
#
# A laptop with Linux, or Windows with WSL, can check every layout and, in a simulator, whether every kernel is right.
# Measuring their speed needs an NVIDIA GPU, sm_80 (Ampere) or newer; sm_90 is Hopper, sm_100 Blackwell. Times from 2 h
# on are rounded to half an hour, and the totals leave out the appendices. Run the cells below (click one, then press
# Shift-Enter): the first shows the speed of the course's GEMMs, the second your points and what this machine can grade.

# %%
from tutorlib import show_figure

show_figure("ladder")

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
