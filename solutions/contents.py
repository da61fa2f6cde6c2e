# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# You begin with the algebra of layouts and end with attention on Hopper and a GEMM that is level with cuBLAS. You write
# kernels in three of NVIDIA's languages: cuTile and Tile C++, which compute with whole tiles, and the CuTe DSL, in
# which you program each thread. Each page is a notebook: you write the pieces, and `check` tells you at once whether
# each is right. Begin with [00](00_start.ipynb), which takes five minutes and shows how. Then read the pages in order,
# or those that you need:
#
# | for | read |
# |---|---|
# | cuTile: a GEMM and attention | 06, 07 and 19 (without 01 to 05); 08 has the same kernels in C++ |
# | CuTe, up to Ampere's tensor cores | 01 to 05, then 09 to 12 |
# | Hopper: TMA, WGMMA, warp specialization | the same, then 13 and 14; 19 and 20 for attention |
# | Blackwell: tcgen05 and tensor memory | 15, after the Hopper path to 14 |
# | kernels in a torch model; the cost of a launch | 16 and 17, after the Hopper path to 13 |
# | debugging kernels | 18, after the Hopper path to 13 |
#
# The [glossary](glossary.ipynb) defines the terms.
#
# A laptop can check every layout and, in a simulator, whether every kernel is right. Measuring their speed needs an
# NVIDIA GPU: sm_80 is Ampere, sm_90 Hopper, sm_100 Blackwell. In the table, times from 2 h on are rounded to half an
# hour, and the total leaves out the appendices, which you can skip. Run the cell below (click it, then press
# Shift-Enter): it shows your points and what this machine can grade.

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
