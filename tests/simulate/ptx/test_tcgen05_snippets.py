"""tcgen05.mma and tcgen05.cp, one instruction at a time, against CuTe's layouts and torch's arithmetic."""

import numpy as np
import pytest
import torch
from cutlass import Float16, Float32, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.simulate.ptx.descriptors import fragment

N = 64  # columns of the product
SOME = [0, 1, N // 2 - 1, N // 2, N - 1]
AT = {"a": 1024, "b": 1024 + 4096, "sfa": 1024 + 8192, "sfb": 2048 + 8192}  # in shared memory
BEGIN = """
mov.u32 %r1, smem; add.u32 %r2, %r1, 8; setp.eq.u32 %p1, %tid_x, 0; shr.u32 %r3, %tid_x, 5; shl.b32 %r4, %r3, 21;
setp.ne.u32 %p2, %r3, 0;
@%p1 mbarrier.init.shared.b64 [%r2], 1;
@%p2 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 256;
ALLOCATED: COPIES fence.proxy.async; bar.sync 0;
ld.shared.b32 %r5, [%r1]; add.u32 %r6, %r5, 128; add.u32 %r7, %r5, 160; add.u32 %r4, %r4, %r5;
setp.ne.u32 %p3, %tid_x, %tid_x;
"""
END = """
WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
@!%p4 bra WAIT;
"""
DUMP = """
tcgen05.ld.sync.aligned.32x32b.xCOUNT.b32 {REGISTERS}, [%r4];
tcgen05.wait::ld.sync.aligned;
bar.sync 0;
@%p2 bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 256;
FREED: mul.wide.u32 %rd1, %tid_x, STRIDE; add.s64 %rd1, %rd_out, %rd1;
"""


def descriptor(name, rows):
    """Of (rows, 32 bytes) in core matrices, or of (rows, 16 bytes)."""
    return AT[name] >> 4 | 128 >> 4 << 16 | (256 if rows else 128) >> 4 << 32 | 1 << 46


def cores(matrix):
    """(rows, 32 bytes) in the order of K-major core matrices without a swizzle."""
    return matrix.view(torch.uint8).reshape(-1, 8, 2, 16).permute(0, 2, 1, 3).contiguous().reshape(-1)


def run(instructions, inputs, count, wait=END):
    """(128, count): the first columns of tensor memory after the instructions, as int32, and the findings.

    instructions: of one thread. inputs: by their names, bytes for shared memory.
    """
    copies, names = "", [f"%x{n}" for n in range(count)]
    for name, values in inputs.items():
        assert len(values) % 512 == 0
        for first in range(0, len(values), 2048):
            some = "@%p5 " if len(values) < 2048 else ""
            copies += f"setp.lt.u32 %p5, %tid_x, {len(values) // 16}; mul.wide.u32 %rd1, %tid_x, 16;"
            copies += f"add.s64 %rd1, %rd_{name}, %rd1;"
            copies += f"{some}ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd1+{first}];"
            copies += "shl.b32 %r14, %tid_x, 4; add.u32 %r14, %r1, %r14;"
            copies += f"{some}st.shared.v4.b32 [%r14+{AT[name] + first}], {{%r10, %r11, %r12, %r13}};"
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];"
    body = BEGIN.replace("COPIES", copies) + "@!%p1 bra ISSUED;" + instructions + commit + "ISSUED:" + wait
    body += DUMP.replace("COUNT", str(count)).replace("REGISTERS", ", ".join(names)).replace("STRIDE", str(4 * count))
    body += "".join(f"st.global.b32 [%rd1+{4 * n}], {name};" for n, name in enumerate(names))
    out = torch.zeros(128, count, dtype=torch.int32)
    text = kernel(body, [*inputs, "out"], 16384, f".reg .b32 %x<{count}>;")
    return out, launch(text, {**inputs, "out": out}, threads=128).findings


def dense(rows, columns, a, b):
    """An instruction descriptor: fp32, and the codes of A's and B's types."""
    return 1 << 4 | a << 7 | b << 10 | columns >> 3 << 17 | rows >> 4 << 24


# where accumulators lie ---------------------------------------------------------------------------------------------


def places(rows, group):
    """(rows of a block, some columns): lane and column as the DSL has them for M = rows."""
    found = []
    width = 1 + (group is tcgen05.CtaGroup.TWO)

    @cute.jit
    def trace():
        op = tcgen05.MmaF16BF16Op(
            Float16, Float32, (rows, N, 16), group, tcgen05.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
        )
        mma = cute.make_tiled_mma(op)
        layout = mma.make_fragment_C(mma.partition_shape_C((rows, N))).layout
        found.extend(cute.crd2idx(((m, n), 0, 0), layout) for m in range(rows // width) for n in SOME)

    trace()
    return np.divmod(np.array(found).reshape(-1, len(SOME)), 1 << 16)


@pytest.mark.parametrize(
    ("rows", "how", "like"),
    [
        (128, "", (128, tcgen05.CtaGroup.ONE)),
        (64, "", (64, tcgen05.CtaGroup.ONE)),
        (64, ".ws", (128, tcgen05.CtaGroup.TWO)),  # 64 rows of a pair's block lie so, too
    ],
)
def test_accumulators_lie_where_the_dsl_has_them(rows, how, like):
    torch.manual_seed(0)
    a, b = torch.randn(rows, 16).half(), torch.randn(N, 16).half()
    inputs = {"a": cores(a), "b": cores(b)}
    mma = f"tcgen05.mma{how}.cta_group::1.kind::f16 [%r5], {descriptor('a', 1)}, {descriptor('b', 1)}, "
    got, findings = run(f"{mma}{dense(rows, N, 0, 0)}, %p3;", inputs, N)
    assert not [finding for finding in findings if finding.kind != "unwritten"]  # the dump's lanes between
    lanes, columns = places(*like)
    torch.testing.assert_close(got.view(torch.float32)[lanes, columns], (a.float() @ b.float().T)[:, SOME])


# scales -------------------------------------------------------------------------------------------------------------

E4M3, E5M2, E8M0 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
CODES = {"e4m3": 0, "e5m2": 1}


def numbers(kind, rows, columns):
    """Random patterns, one in each byte, and their values in fp64."""
    if kind in CODES:
        values = torch.randn(rows, columns).to(E4M3 if kind == "e4m3" else E5M2)
        return values.view(torch.uint8), values.double()
    patterns = torch.randint(0, 16, (rows, columns), dtype=torch.uint8)
    size = patterns & 7  # of e2m1, whose patterns are those of e4m3 without two bits
    values = (size << 2).view(E4M3).double() * 2.0**6
    return patterns, torch.where(patterns == size, values, -values)


def packed(patterns, bits):
    """(rows, 16 · n) → (rows, 2 · bits · n): sixteen numbers in 2 · bits bytes."""
    each = np.unpackbits(patterns.numpy()[..., None], axis=-1, bitorder="little")[..., :bits]
    return torch.from_numpy(np.packbits(each.reshape(len(patterns), -1), axis=-1, bitorder="little"))


def scales(kind, rows):
    """Random scales, as bytes for shared memory, and (rows, 4) in fp64."""
    values = torch.exp2(torch.randint(-3, 4, (128, 4)).float()) if kind is E8M0 else torch.rand(128, 4) + 0.5
    values = values.to(kind)
    return values.view(torch.uint8).reshape(4, 32, 4).transpose(0, 1).reshape(-1).contiguous(), values.double()[:rows]


def scaled(mma, shape, inputs, first):
    """What a block-scaled product gives, and the findings. first: of the scales that count."""
    copies = "".join(
        f"tcgen05.cp.cta_group::1.32x128b.warpx4 [{at}], {descriptor(name, 0)};"
        for at, name in (("%r6", "sfa"), ("%r7", "sfb"))
    )
    shape |= first << 4 | first << 29 | N >> 3 << 17 | 128 >> 4 << 24
    operands = f"[%r5], {descriptor('a', 1)}, {descriptor('b', 1)}, {shape}, [%r6], [%r7], %p3;"
    return run(f"{copies} tcgen05.mma.cta_group::1.{mma} {operands}", inputs, N)


def test_a_scale_for_each_32_numbers_of_8_bits():
    torch.manual_seed(1)
    (a, of_a), (b, of_b), (sfa, scale_a), (sfb, scale_b) = (
        numbers("e4m3", 128, 32), numbers("e5m2", N, 32), scales(E8M0, 128), scales(E8M0, N),
    )  # fmt: skip
    inputs = {"a": cores(a), "b": cores(b), "sfa": sfa, "sfb": sfb}
    shape = CODES["e4m3"] << 7 | CODES["e5m2"] << 10 | 1 << 23
    got, findings = scaled("kind::mxf8f6f4.block_scale.scale_vec::1X", shape, inputs, 2)
    assert not findings
    assert torch.equal(got.view(torch.float32), ((of_a * scale_a[:, 2:3]) @ (of_b * scale_b[:, 2:3]).T).float())


@pytest.mark.parametrize(
    ("mma", "kind", "vector"),
    [("mxf4.block_scale.scale_vec::2X", E8M0, 32), ("mxf4nvf4.block_scale.block16", E4M3, 16)],
)
def test_scales_for_numbers_of_4_bits(mma, kind, vector):
    torch.manual_seed(2)
    (a, of_a), (b, of_b) = numbers("e2m1", 128, 64), numbers("e2m1", N, 64)
    (sfa, scale_a), (sfb, scale_b) = scales(kind, 128), scales(kind, N)
    inputs = {"a": cores(packed(a, 4)), "b": cores(packed(b, 4)), "sfa": sfa, "sfb": sfb}
    got, findings = scaled(f"kind::{mma}", 1 << 7 | 1 << 10 | (kind is E8M0) << 23, inputs, 0)
    assert not findings
    wide = [x[:, : 64 // vector].repeat_interleave(vector, 1) for x in (scale_a, scale_b)]
    torch.testing.assert_close(got.view(torch.float32), ((of_a * wide[0]) @ (of_b * wide[1]).T).float())


def test_scales_that_nothing_has_filled():
    a, b = torch.zeros(4096, dtype=torch.uint8), torch.zeros(N * 32, dtype=torch.uint8)
    text = f"[%r5], {descriptor('a', 1)}, {descriptor('b', 1)}, {N >> 3 << 17 | 8 << 24}, [%r6], [%r7], %p3;"
    _, (finding,) = run(f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale {text}", {"a": a, "b": b}, N)
    assert (finding.kind, "nothing has filled" in finding.message) == ("unwritten", True)


# copies -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "rows", "columns", "quarters"),  # which 32 rows each quarter of the lanes gets, as the name has it
    [
        ("128x256b", 128, 8, [0, 1, 2, 3]),
        ("128x128b", 128, 4, [0, 1, 2, 3]),
        ("64x128b.warpx2::02_13", 64, 4, [0, 1, 0, 1]),
        ("64x128b.warpx2::01_23", 64, 4, [0, 0, 1, 1]),
        ("32x128b.warpx4", 32, 4, [0, 0, 0, 0]),
    ],
)
def test_copies_fill_all_lanes(how, rows, columns, quarters):
    words = torch.arange(rows * columns, dtype=torch.int32).reshape(rows, columns)
    given = cores(words) if columns == 8 else words.view(torch.uint8).reshape(-1)
    cp = f"tcgen05.cp.cta_group::1.{how} [%r5], {descriptor('a', columns == 8)};"
    got, findings = run(cp, {"a": given}, columns)
    assert not findings
    assert torch.equal(got, words.reshape(-1, 32, columns)[quarters].reshape(128, columns))


def test_a_copy_of_four_rows_fills_a_lane_of_each_quarter():
    words = torch.arange(8 * 8, dtype=torch.int32).reshape(8, 8)
    whole = torch.zeros(128, 8, dtype=torch.int32)
    text = f"tcgen05.cp.cta_group::1.128x256b [%r5], {descriptor('b', 1)}; add.u32 %r8, %r5, {31 << 16};"
    text += f"tcgen05.cp.cta_group::1.4x256b [%r8], {descriptor('a', 1)};"
    got, findings = run(text, {"a": torch.cat([cores(words)] * 2), "b": cores(whole)}, 8)
    assert not findings
    whole[31::32] = words[:4]
    assert torch.equal(got, whole)


def test_a_load_of_what_may_still_be_copied_is_unwaited():
    cp = f"tcgen05.cp.cta_group::1.128x128b [%r5], {descriptor('a', 0)};"
    _, findings = run(cp, {"a": torch.zeros(2048, dtype=torch.uint8)}, 4, wait="bar.sync 0;")
    assert any("the tcgen05.cp at" in finding.message and finding.kind == "unwaited" for finding in findings)


@pytest.mark.parametrize(("fence", "kinds"), [("fence.proxy.async;", []), ("", ["proxy"])])
def test_bytes_that_an_mbarrier_counts_need_a_proxy_fence(fence, kinds):
    """cp.async writes them as a thread would."""
    text = f"""add.u32 %r20, %r1, 16; mbarrier.init.shared.b64 [%r20], 1;
    cp.async.ca.shared.global [%r1+1024], [%rd_a], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [%r20];
    ARRIVED: mbarrier.try_wait.parity.shared.b64 %p6, [%r20], 0; @!%p6 bra ARRIVED;
    {fence} tcgen05.cp.cta_group::1.128x128b [%r5], {descriptor("a", 0)};"""
    _, findings = run(text, {"a": torch.zeros(2048, dtype=torch.uint8)}, 4)
    assert [finding.kind for finding in findings] == kinds


def test_a_copy_of_what_no_proxy_fence_has_made_visible():
    cp = f"st.shared.b32 [%r1+1024], %tid_x; tcgen05.cp.cta_group::1.128x128b [%r5], {descriptor('a', 0)};"
    _, findings = run(cp, {"a": torch.zeros(2048, dtype=torch.uint8)}, 4)
    assert [finding.kind for finding in findings] == ["proxy"]
    assert "the tcgen05.cp of warp 0" in findings[0].message


ARRIVE, FENCE = "barrier.cluster.arrive; barrier.cluster.wait;", "tcgen05.fence::before_thread_sync;"
RELAXED = ARRIVE.replace("arrive", "arrive.relaxed")


@pytest.mark.parametrize(("between", "kinds"), [(ARRIVE, []), (RELAXED, ["race"]), (FENCE + RELAXED, [])])
def test_a_load_that_is_over_needs_a_fence_before_a_relaxed_arrival_only(between, kinds):
    """PTX ISA, 9.7.16.6: a tcgen05.fence orders with relaxed arrivals; others order what is over by themselves."""
    cp = f"tcgen05.cp.cta_group::1.128x128b [%r5], {descriptor('a', 0)};"
    again = f"@!%p1 bra AGAIN; {cp} tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2]; AGAIN:"
    load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r4]; tcgen05.wait::ld.sync.aligned;"
    second = END.replace("WAIT", "SECOND").replace("[%r2], 0", "[%r2], 1")
    _, findings = run(cp, {"a": torch.zeros(2048, dtype=torch.uint8)}, 4, END + load + between + again + second)
    assert [finding.kind for finding in findings] == kinds


# tcgen05.ld and .st ---------------------------------------------------------------------------------------------------

LOADS = {
    "32x32b": (tcgen05.Ld32x32bOp, 1),  # the atom, and columns of .x1
    "16x64b": (tcgen05.Ld16x64bOp, 2),
    "16x128b": (tcgen05.Ld16x128bOp, 4),
    "16x256b": (tcgen05.Ld16x256bOp, 8),
}


@pytest.mark.parametrize("times", [1, 2, 8])
@pytest.mark.parametrize("shape", LOADS)
def test_each_thread_has_what_the_dsls_atoms_give_it(shape, times):
    op, columns = LOADS[shape]
    found = []

    @cute.jit
    def trace():
        layout = cute.make_copy_atom(op(getattr(tcgen05.Repetition, f"x{times}")), Float32).layout_dst_tv
        registers = range(cute.size(layout, mode=[1]))
        found.extend([cute.crd2idx((thread, n), layout) for n in registers] for thread in range(32))

    trace()
    where = fragment(shape, times)
    assert np.array_equal(where.lanes * columns * times + where.columns, found)


def test_the_upper_threads_of_16x32bx2_have_other_columns():
    where = fragment("16x32bx2", 2, 8)
    assert where.lanes[17].tolist() == [1, 1]
    assert where.columns[[1, 17]].tolist() == [[0, 1], [8, 9]]


ROUND_TRIP = """
mov.u32 %r1, smem; cvt.u64.u32 %rd1, %tid_x; shl.b64 %rd1, %rd1, 2; add.s64 %rd1, %rd1, %rd_out;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;
bar.sync 0;
ld.shared.b32 %r2, [%r1];
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r2], {%tid_x, %tid_x};
WAIT
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r3, %r5}, [%r2];
tcgen05.wait::ld.sync.aligned;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;
st.global.b32 [%rd1], %r5;
"""


def round_trip(wait):
    out = torch.zeros(32, dtype=torch.int32)
    body = ROUND_TRIP.replace("WAIT", wait)
    return out, launch(kernel(body, ["out"], shared=16), {"out": out}).findings


def test_what_is_stored_is_read_back():
    out, findings = round_trip("tcgen05.wait::st.sync.aligned;")
    assert (out.tolist(), findings) == (list(range(32)), ())


def test_a_load_of_what_may_still_be_stored_is_unwaited():
    _, (finding,) = round_trip("")
    assert finding.kind == "unwaited"
    assert "no tcgen05.wait::st lies between" in finding.message
