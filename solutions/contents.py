# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# From the algebra of layouts to matrix multiplications beside cuBLAS, in cuTile, in C++ and in the CuTe DSL. Each page
# is a notebook in which you write the pieces yourself, and `check` tells you at once whether each is right. Read them
# in order; [00](00_start.ipynb) takes five minutes and shows how it works.
#
# A laptop can grade all of the layouts, and whether kernels are right. How fast they are wants an NVIDIA GPU: sm_80 is
# Ampere, sm_90 is Hopper. Run the cell below (click it, then Shift-Enter): it adds your points so far, and what this
# machine can grade.

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
