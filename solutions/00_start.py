# %% [markdown]
# # 00 · Start here
# %%
from tutorlib import check


# %%
def ceil_div(n, tile):
    ### BEGIN SOLUTION (about 1 line)
    return (n + tile - 1) // tile
    ### END SOLUTION


# %%
check("00.1", ceil_div)
