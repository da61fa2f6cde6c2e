"""The kernel that only multiplies: what it compiles to, and its arithmetic."""

import pytest

from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.spec import TensorSpec
from tutorlib.instruments.ceilings import BLOCKS, CONFIG, K, mma_sync_tflops, only_mma

M, N, _ = CONFIG.tile
ATOMS = M // 16 * (N // 8) // (CONFIG.threads // 32)  # m16n8k16 of a warp


@pytest.fixture(scope="module")
def compiled():
    from cutlass import cute

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        only_mma(a, b, c, 64)

    specs = [TensorSpec((M, K), "bf16"), TensorSpec((N, K), "bf16"), TensorSpec((M, N, 4), "fp32", order=(1, 0, 2))]
    return compile_cute(host, specs, "sm_80")


def test_its_loop_holds_every_mma_of_a_warp_once_and_nothing_from_memory(compiled):
    assert compiled.ptx.count("mma.sync.aligned.m16n8k16") == ATOMS
    assert "ld.shared" not in compiled.ptx
    loop = compiled.ptx[compiled.ptx.index("mma.sync") : compiled.ptx.rindex("mma.sync")]
    assert "ld.global" not in loop


def test_as_many_blocks_fit_on_a_multiprocessor_as_it_asks_for(compiled):
    assert compiled.registers * CONFIG.threads * BLOCKS <= 65536


@pytest.mark.gpu("80")
def test_it_multiplies():
    assert mma_sync_tflops() > 0
