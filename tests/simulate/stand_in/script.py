"""A script as somebody has it who has a GPU."""

import sys

import cuda.tile as ct
import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def shift_kernel(x: cute.Tensor, y: cute.Tensor, by: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    y[thread + by] = x[thread]


@cute.jit
def shift(x: cute.Tensor, y: cute.Tensor, by: cutlass.Constexpr):
    shift_kernel(x, y, by).launch(grid=(1, 1, 1), block=(32, 1, 1))


@ct.kernel
def double(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (32,)) * 2)


def test_shift():
    shifted(0)


def shifted(by):
    x, y = torch.arange(32.0, device="cuda"), torch.empty(32, device="cuda")
    shift(from_dlpack(x), from_dlpack(y), by)
    compiled = cute.compile(shift, from_dlpack(x), from_dlpack(y), by)
    compiled(from_dlpack(x), from_dlpack(y))
    torch.testing.assert_close(y, x)


def test_ffi():
    x, y = torch.arange(32.0, device="cuda"), torch.empty(32, device="cuda")
    compiled = cute.compile(
        shift, *(from_dlpack(t, enable_tvm_ffi=True) for t in (x, y)), 0, options="--enable-tvm-ffi"
    )
    compiled(x, y)
    torch.testing.assert_close(y, x)


def test_double():
    x = torch.ones(32).cuda()
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (1,), double, (x, y))
    assert y.tolist() == [2] * 32


if __name__ == "__main__":
    for word in sys.argv[1:]:
        {"right": test_shift, "outside": lambda: shifted(1), "ffi": test_ffi, "double": test_double}[word]()
