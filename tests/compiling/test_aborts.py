"""What would end the process is an error with a sentence."""

import cutlass
import pytest
from cutlass import cute
from cutlass.cute.atom import ThrCopy
from cutlass.cute.nvgpu import warp

from tutorlib.compiling.cute import call_host
from tutorlib.compiling.errors import CompileFailed
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma


@cute.jit
def retiles_one_k_block():
    tiled_mma = make_mma(GemmConfig(), cutlass.BFloat16)
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), cutlass.BFloat16)
    tile = cute.make_rmem_tensor((128, 64), cutlass.BFloat16)
    registers = tiled_mma.make_fragment_A(tiled_mma.get_slice(0).partition_A(tile)[None, None, 0])
    cute.make_tiled_copy_A(atom, tiled_mma).get_slice(0).retile(registers)


def test_a_retile_of_too_few_modes():
    retile = ThrCopy.retile
    with pytest.raises(CompileFailed, match="retile of a tensor with 2 modes"):
        call_host(retiles_one_k_block)
    assert ThrCopy.retile is retile
