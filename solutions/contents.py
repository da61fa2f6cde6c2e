# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts and end with attention on Hopper and a GEMM that is level with cuBLAS. You write
# kernels in three of NVIDIA's languages: cuTile and Tile C++, which compute with whole tiles, and the CuTe DSL, in
# which you program each thread. Each page is a notebook: you write the pieces, and `check` tells you at once whether
# each is right. Begin with [00](00_start.ipynb), which takes five minutes and shows how. Then take the path that is
# yours; the [glossary](glossary.ipynb) defines the terms.
#
# A laptop can check every layout and, in a simulator, whether every kernel is right. Measuring their speed needs an
# NVIDIA GPU: sm_80 is Ampere, sm_90 Hopper, sm_100 Blackwell. Times from 2 h on are rounded to half an hour, and the
# totals leave out the appendices. Run the cell below (click it, then press Shift-Enter): it shows your points and what
# this machine can grade.

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
