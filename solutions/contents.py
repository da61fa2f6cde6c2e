# %% [markdown]
# # Fast GPU matrix kernels, in Python
#
# From the algebra of layouts to matrix multiplications as fast as cuBLAS, in cuTile, in C++ and in the CuTe DSL. Each
# page is a notebook: you write the pieces, and `check` tells you at once whether each is right. Read the pages in
# order; [00](00_start.ipynb) takes five minutes and shows how they work. The [glossary](glossary.ipynb) defines the
# terms.
#
# A laptop can check every layout, and whether most kernels are right. Measuring their speed needs an NVIDIA GPU: sm_80
# is Ampere, sm_90 Hopper, sm_100 Blackwell. Run the cell below (click it, then press Shift-Enter): it shows your points
# and what this machine can grade.

# %%
from tutorlib.notebook.contents import show_contents

show_contents()
