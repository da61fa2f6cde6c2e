"""Compiling cuTile kernels without a GPU."""

import cuda.tile as ct
import pytest

from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec

VECTOR = TensorSpec((1024,))


@ct.kernel
def placeholder_cutile(a):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


def test_an_unwritten_cutile_answer_says_so():
    with pytest.raises(NotImplementedError, match=r"^Exercise 06\.1$"):
        compile_cutile(placeholder_cutile, [VECTOR])


@ct.kernel
def gemm_cutile(a, b, c, m: ct.Constant[int], n: ct.Constant[int], k: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((m, n), 0, dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        acc = ct.mma(ct.load(a, (i, step), (m, k)), ct.load(b, (step, j), (k, n)), acc)
    ct.store(c, (i, j), ct.astype(acc, c.dtype))


@pytest.mark.parametrize(("arch", "tensor_core"), [("sm_80", "mma.sync"), ("sm_90", "wgmma"), ("sm_100", "tcgen05")])
def test_cutile_uses_the_tensor_cores_of_each_target(arch, tensor_core):
    matrix = TensorSpec((512, 512), "bf16")
    compiled = compile_cutile(gemm_cutile, [matrix, matrix, matrix, 128, 128, 64], arch)
    assert tensor_core in compiled.instructions
    assert compiled.registers > 32
    assert compiled.threads >= 128
    assert compiled.smem_bytes >= 2 * 128 * 64 * 2  # a tile of A and one of B


@ct.kernel
def odd_tile_cutile(a):
    ct.store(a, (0,), ct.load(a, (0,), (192,)))


def test_a_cutile_failure_quotes_the_readers_line():
    with pytest.raises(CompileFailed, match=r"line \d+, `ct.store.*\(192,\) is not a power of two"):
        compile_cutile(odd_tile_cutile, [VECTOR])
