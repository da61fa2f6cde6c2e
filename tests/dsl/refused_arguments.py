"""CuTe functions that are given something of the wrong kind: another library's, a list, a fraction, a name they lack.

They join `refused_cute.REFUSED`.
"""

import numpy as np
import torch
from cutlass import Float32, cute
from cutlass.cute.nvgpu import CopyUniversalOp
from cutlass.memory import SmemAllocator

from tests.dsl.refused_copies import part_of
from tests.dsl.refused_cute import TILE, plain_kernel, refused, refused_host


@refused("cute.copy goes from a tensor to a tensor", TILE)
@cute.jit
def copies_to_a_number(x, y):
    tiled, part = part_of(CopyUniversalOp(), x, (16, 8), (1, 8), 128)
    cute.copy(tiled, part, 0)


@refused("The index does not fit the tensor's modes", TILE)
@cute.jit
def slices_a_third_mode(x, y):
    y[0, 0] = x[None, 0, 0]


@refused("The tile has more modes than the tensor", TILE)
@cute.jit
def a_tile_of_three_modes(x, y):
    y[0, 0] = cute.local_tile(x, (32, 32, 32), (0, 0, 0))[0, 0]


@refused("local_tile takes three", TILE)
@cute.jit
def forgets_which_tile(x, y):
    y[0, 0] = cute.local_tile(x, (32, 32))[0, 0]


@refused("are tuples, (4, 4), and no lists", TILE)
@cute.jit
def a_tile_as_a_list(x, y):
    y[0, 0] = cute.local_tile(x, [32, 32], [0, 0])[0, 0]


@refused("`/` gives a fraction where `//` is meant")
@cute.jit
def an_index_of_a_half(x, y):
    thread, _, _ = cute.arch.thread_idx()
    y[thread / 2] = x[0]


@refused("make_layout() has no keyword `strides`. Did you mean `stride=`?")
@cute.jit
def strides_for_stride(x, y):
    cute.make_layout((4, 4), strides=(4, 1))


@refused_host("launch takes grid=(x, y, z) and block=(x, y, z), and has no `threads`")
@cute.jit
def threads_for_block(x: cute.Tensor, y: cute.Tensor):
    plain_kernel(x, y).launch(grid=(4, 1, 1), threads=(128, 1, 1))


@refused_host("a kernel is launched by `name(…).launch(grid=…, block=…)`")
@cute.jit
def launches_in_brackets(x: cute.Tensor, y: cute.Tensor):
    plain_kernel[(4, 1, 1), (128, 1, 1)](x, y)


@refused_host("A kernel hands its results back in its tensors")
@cute.jit
def takes_what_a_launch_gives(x: cute.Tensor, y: cute.Tensor):
    y[0] = plain_kernel(x, y).launch(grid=(1, 1, 1), block=(1, 1, 1))


@refused("torch computes with its own tensors")
@cute.jit
def stores_torchs_zeros(x, y):
    y[0] = torch.zeros(4)[0]


@refused("cute.math has such functions")
@cute.jit
def takes_numpys_root(x, y):
    y[0] = np.sqrt(x[0])


@refused("This argument must be a dtype of cutlass, such as cutlass.Float32: no string, none of torch")
@cute.jit
def names_a_dtype(x, y):
    cute.make_rmem_tensor((4,), "float32")


@refused("The dtype comes first, the layout second")
@cute.jit
def exchanges_layout_and_dtype(x, y):
    SmemAllocator().allocate_tensor(cute.make_layout(4), Float32)


@refused("In a kernel a dtype is one of cutlass")
@cute.jit
def converts_to_torchs(x, y):
    y[0] = x[0].to(torch.float32)


@refused("A number of the kernel has no `item`")
@cute.jit
def asks_for_the_item(x, y):
    y[0] = x[0].item()
