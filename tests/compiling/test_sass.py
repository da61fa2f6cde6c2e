"""SASS: listings are read as nvdisasm prints them."""

import pytest

from tutorlib.compiling.compiled import opcodes, story
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.programs import SASS_OPCODES, disassemble, main_loop_of, read_listing
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.ampere.gemm import make_gemm
from tutorlib.kernels.ampere.main_loops import TUNED, loads_spread, multistage

LISTING = """
\t.target\tsm_90a
//--------------------- .text.kernel --------------------------
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0a80*/                   HMMA.16816.F32.BF16 R4, R132.reuse, R136, R4 ;
        /*0be0*/              @!P3 LDGSTS.E.BYPASS.LTC128B.128 [R209], desc[UR6][R220.64+0xc0] ;
        /*0bf0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0c00*/              @P0  BRA `(.L_x_0) ;
.L_x_1:
        /*0c10*/                   BRA `(.L_x_1);
"""


def test_a_listing_is_read():
    sass = read_listing(LISTING)
    assert sass.splitlines()[:3] == ["LDC R1, c[0x0][0x28]", ".L_x_0:", "HMMA.16816.F32.BF16 R4, R132.reuse, R136, R4"]
    assert len(main_loop_of(sass).splitlines()) == 4
    assert story(main_loop_of(sass), SASS_OPCODES) == "HMMA → LDGSTS → BAR.SYNC → BRA"


def test_no_loop_no_lines():
    assert main_loop_of("EXIT") == ""


@pytest.mark.parametrize("loop", [multistage, loads_spread])
def test_a_k_tile_of_the_machine_code_has_what_the_ptx_has(loop):
    compiled = compile_cute(make_gemm(TUNED, loop), [TensorSpec((1024, 1024), "bf16")] * 3, "sm_90a")
    found = opcodes(main_loop_of(disassemble(compiled.cubin)), SASS_OPCODES)
    assert [found.count(name) for name in ("HMMA", "LDSM", "LDGSTS", "BAR.SYNC")] == [64, 16, 6, 1]
