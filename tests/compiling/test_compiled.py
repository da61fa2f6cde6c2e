"""Compiled kernels, read: resources, instructions, PTX and machine code."""

import re

import pytest
import torch
from cutlass import cute

from tests.compiling.kernels import (
    double_kernel,
    launch,
    local_array_kernel,
    printing_kernel,
    shared_kernel,
    spilling_kernel,
    wide_kernel,
)
from tutorlib.compiling import programs
from tutorlib.compiling.compiled import counts, opcodes, story
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.programs import disassemble
from tutorlib.compiling.spec import TensorSpec

VECTOR = TensorSpec((1024,))


def test_shared_memory_threads_and_summary():
    compiled = compile_cute(launch(shared_kernel), [VECTOR])
    assert compiled.smem_bytes == 128 * 4
    assert compiled.threads == 128
    assert str(compiled) == (
        f"sm_80: 128 threads, {compiled.registers} registers, no spills, 512 bytes of shared memory"
    )


def test_the_body_is_what_the_threads_do():
    body = compile_cute(launch(double_kernel), [VECTOR]).body
    assert body.split("\n")[0].split() == ["ld.param.b64", "%rd1,", "[param_0];"]
    assert body.split("\n")[-1].strip() == "ret;"
    assert ".reg" not in body


def test_instructions():
    names = {kernel: compile_cute(launch(kernel), [VECTOR]).instructions for kernel in (double_kernel, wide_kernel)}
    assert names[double_kernel] == {"ld.global", "st.global"}
    assert names[wide_kernel] == {"ld.global", "st.global", "ld.global.v4", "st.global.v4"}
    assert "bar.sync" in compile_cute(launch(shared_kernel), [VECTOR]).instructions


@pytest.mark.parametrize(
    "kernel",
    [double_kernel, wide_kernel, shared_kernel, spilling_kernel, local_array_kernel, printing_kernel],
    ids=lambda kernel: kernel.__name__,
)
def test_the_cubin_is_read_as_ptxas_describes_it(kernel):
    compiled = compile_cute(launch(kernel), [VECTOR])
    _, said = programs.assemble(compiled.ptx)
    assert f"Used {compiled.registers} registers" in said
    assert f"{compiled.stack_bytes} bytes stack frame" in said


def test_spills_are_told_from_arrays():
    spilling, array = (compile_cute(launch(kernel), [VECTOR]) for kernel in (spilling_kernel, local_array_kernel))
    assert spilling.spill_bytes >= 4 * (300 - 255)
    assert array.stack_bytes >= 64 * 4
    assert array.spill_bytes == 0


PTX = """
.visible .entry gemm(
\t.param .u64 gemm_param_0
)
{
\tcp.async.cg.shared.global [%r1], [%rd1], 16;
\t@%p1 cp.async.cg.shared.global [%r2], [%rd2], 16;
\t// bar.sync in a comment
\tcp.async.wait_group 0;
\tbar.sync 0;
$L__BB0_1:
\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r7];
\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1}, {%r3}, {%r8}, {%f1};
\t@!%p2 st.global.v4.b32 [%rd3], {%r9, %r10, %r11, %r12};
}
"""


def test_opcodes_come_in_order_with_or_without_a_predicate():
    assert opcodes(PTX) == [
        "cp.async", "cp.async", "wait_group", "bar.sync", "ldmatrix.x4", "mma.sync", "st.global.v4",
    ]  # fmt: skip


def test_a_story_puts_runs_together():
    assert story(PTX) == "cp.async ×2 → wait_group → bar.sync → ldmatrix.x4 → mma.sync → st.global.v4"


def test_counts_have_a_line_each():
    assert counts(PTX).splitlines()[0] == "   2 cp.async"
    assert "   0 st.shared" in counts(PTX).splitlines()


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
"""


def test_a_listing_is_read(monkeypatch):
    monkeypatch.setattr(programs, "listing_of", lambda cubin: LISTING)
    sass = disassemble(b"")
    assert sass.splitlines()[:3] == ["LDC R1, c[0x0][0x28]", ".L_x_0:", "HMMA.16816.F32.BF16 R4, R132.reuse, R136, R4"]


def test_a_torch_tensors_spec():
    assert TensorSpec.like(torch.zeros(3, 4, dtype=torch.bfloat16)) == TensorSpec((3, 4), "bf16")
    assert TensorSpec.like(torch.zeros(3, 4).T) == TensorSpec((4, 3), order=(0, 1))
    assert TensorSpec.like(torch.zeros(3, dtype=torch.int32), dynamic=True) == TensorSpec((3,), "int32", dynamic=True)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int32"])
def test_dynamic_layouts_take_their_sizes_at_run_time(dtype):
    def parameter_bytes(spec):
        ptx = compile_cute(launch(double_kernel), [spec]).ptx
        return int(re.search(r"\.param .*_param_0\[(\d+)\]", ptx)[1])

    static = TensorSpec((64, 32), dtype)
    dynamic = TensorSpec((64, 32), dtype, dynamic=True)
    assert parameter_bytes(static) == 8  # the address alone
    assert parameter_bytes(dynamic) > 8


def test_order_says_which_mode_is_contiguous():
    seen = []

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        seen.extend([str(a.layout), str(b.layout)])
        double_kernel(a).launch(grid=(1, 1, 1), block=(1, 1, 1))

    compile_cute(host, [TensorSpec((8, 4)), TensorSpec((8, 4), order=(0, 1))])
    assert seen == ["(8,4):(4,1)", "(8,4):(1,8)"]
