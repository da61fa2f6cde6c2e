"""Reading a GEMM's PTX."""

from tutorlib.compiling.compiled import counts, opcodes, story

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
