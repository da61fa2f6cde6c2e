"""wgmma of one warpgroup: every layout and type of CuTe's equals torch, and what a kernel leaves out is missed."""

from dataclasses import replace

import cutlass
import pytest
import torch
from cutlass import Float32, cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.nvgpu.warpgroup import OperandSource, SmemLayoutAtomKind
from cutlass.memory import SmemAllocator

from tutorlib.simulate.ptx.languages.cute import Traced, compile_with_lines, simulate_host

THREADS = 128
ROWS, COLUMNS = 64, 48
K_MAJOR, MN_MAJOR = OperandMajorMode.K, OperandMajorMode.MN
TORCH = {
    cutlass.BFloat16: torch.bfloat16,
    cutlass.Float16: torch.float16,
    cutlass.Float8E4M3FN: torch.float8_e4m3fn,
    cutlass.Float8E5M2: torch.float8_e5m2,
}


def operand_layout(rows, k, dtype, kind):
    atom = warpgroup.make_smem_layout_atom(SmemLayoutAtomKind[kind], dtype)
    return cute.tile_to_shape(atom, (rows, k), (0, 1))


@cute.jit
def fill(s: cute.Tensor, g: cute.Tensor):
    """Element by element, through the layout's own arithmetic."""
    thread, _, _ = cute.arch.thread_idx()
    rows, k = cute.size(g, mode=[0]), cute.size(g, mode=[1])
    for at in cutlass.range(thread, rows * k, THREADS, unroll=1):
        s[at // k, at % k] = g[at // k, at % k]


@cute.kernel
def product_kernel(
    gA: cute.Tensor,
    gB: cute.Tensor,
    gC: cute.Tensor,
    tiled_mma: cute.TiledMma,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    from_registers: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    memory = SmemAllocator()
    sA = memory.allocate_tensor(gA.element_type, layout_a.outer, 1024, layout_a.inner)
    sB = memory.allocate_tensor(gB.element_type, layout_b.outer, 1024, layout_b.inner)
    fill(sA, gA)
    fill(sB, gB)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    mine = tiled_mma.get_slice(thread)
    tCsA, tCrB = mine.partition_A(sA), tiled_mma.make_fragment_B(mine.partition_B(sB))
    if cutlass.const_expr(from_registers):
        tCrA = tiled_mma.make_fragment_A(tCsA)
        cute.autovec_copy(tCsA, tCrA)
    else:
        tCrA = tiled_mma.make_fragment_A(tCsA)
    tCgC = mine.partition_C(gC)
    tCrC = cute.make_rmem_tensor(tCgC.shape, gC.element_type)
    warpgroup.fence()
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        tiled_mma.set(warpgroup.Field.ACCUMULATE, k_block > 0)
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(tCrC, tCgC)


def host_of(make_op, kinds, from_registers=False):
    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        k = a.shape[1]
        tiled_mma = cute.make_tiled_mma(cute.make_mma_atom(make_op()), (1, 1, 1))  # an op is made for a target
        layout_a = operand_layout(ROWS, k, a.element_type, kinds[0])
        layout_b = operand_layout(COLUMNS, k, b.element_type, kinds[1])
        product_kernel(a, b, c, tiled_mma, layout_a, layout_b, from_registers).launch(
            grid=(1, 1, 1), block=(THREADS, 1, 1)
        )

    return host


def arguments(tensors, dtype):
    from cutlass.cute.runtime import from_dlpack

    def argument(tensor):
        fp8 = tensor.element_size() == 1
        made = from_dlpack(tensor.view(torch.uint8) if fp8 else tensor, assumed_align=16)
        if fp8:
            made.element_type = dtype
        return made

    return [argument(tensor) for tensor in tensors]


def fakes(tensors, dtype):
    from cutlass.cute.runtime import make_fake_compact_tensor

    made = [dtype, dtype, {4: Float32, 2: cutlass.Float16}[tensors[2].element_size()]]
    gmem = cute.AddressSpace.gmem
    return [
        make_fake_compact_tensor(kind, tuple(x.shape), stride_order=(1, 0), memspace=gmem, assumed_align=16)
        for kind, x in zip(made, tensors, strict=True)
    ]


def multiply(make_op, dtype, kinds, k, sums=torch.float32, from_registers=False, change=lambda ptx: ptx):
    generator = torch.Generator().manual_seed(k)
    a, b = (torch.randn(rows, k, generator=generator).to(TORCH[dtype]) for rows in (ROWS, COLUMNS))
    tensors = [a, b, torch.full((ROWS, COLUMNS), torch.nan, dtype=sums)]
    traced = compile_with_lines(host_of(make_op, kinds, from_registers), fakes(tensors, dtype), "sm_90a")
    changed = change(traced.ptx)
    assert changed != traced.ptx or change(".") == "."
    return *tensors, run(replace(traced, ptx=changed), tensors, dtype)


def run(traced: Traced, tensors, dtype):
    (report,) = simulate_host(traced, dict(zip("abc", tensors, strict=True)), arguments(tensors, dtype))
    return report


def half_op(dtype, a_major=K_MAJOR, b_major=K_MAJOR, source=OperandSource.SMEM, sums=Float32):
    return lambda: warpgroup.MmaF16BF16Op(dtype, sums, (64, COLUMNS), source, a_major, b_major)


BF16, FP16 = cutlass.BFloat16, cutlass.Float16
KINDS = [
    ("K_SW128", "K_SW128", 64),
    ("K_SW64", "K_SW32", 32),
    ("K_INTER", "K_INTER", 32),
    ("MN_SW128", "K_SW64", 32),
    ("K_SW128", "MN_SW32", 64),
    ("MN_SW64", "MN_INTER", 32),
]


@pytest.mark.parametrize(("kind_a", "kind_b", "k"), KINDS)
def test_operands_lie_as_cutes_layouts_have_them(kind_a, kind_b, k):
    majors = [MN_MAJOR if kind.startswith("MN") else K_MAJOR for kind in (kind_a, kind_b)]
    a, b, c, report = multiply(half_op(BF16, *majors), BF16, (kind_a, kind_b), k)
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-5)
    assert not report.findings


@pytest.mark.parametrize("dtype", [cutlass.Float8E4M3FN, cutlass.Float8E5M2])
def test_fp8(dtype):
    def make_op():
        return warpgroup.MmaF8Op(dtype, dtype, Float32, (64, COLUMNS), OperandSource.SMEM, K_MAJOR, K_MAJOR)

    a, b, c, report = multiply(make_op, dtype, ("K_SW64", "K_SW64"), 64)
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-5)
    assert not report.findings


def test_sums_in_fp16():
    a, b, c, _ = multiply(half_op(FP16, sums=FP16), FP16, ("K_SW64", "K_SW64"), 32, torch.float16)
    torch.testing.assert_close(c.float(), a.float() @ b.float().T, rtol=5e-3, atol=5e-3)


def test_a_from_registers():
    op = half_op(BF16, source=OperandSource.RMEM)
    a, b, c, report = multiply(op, BF16, ("K_SW64", "K_SW64"), 32, from_registers=True)
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-5)
    assert not report.findings


def test_tf32():
    """The same bytes as half as many numbers: CuTe has no such op."""

    def as_tf32(ptx):
        return ptx.replace(f"m64n{COLUMNS}k16.f32.bf16.bf16", f"m64n{COLUMNS}k8.f32.tf32.tf32").replace(
            ", p, 1, 1, 0, 0;", ", p, 1, 1;"
        )

    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(rows, 32, generator=generator) for rows in (ROWS, COLUMNS))
    a, b = ((x.view(torch.int32) & -(1 << 13)).view(torch.float32) for x in (a, b))
    c = torch.zeros(ROWS, COLUMNS)
    tensors = [a.view(torch.bfloat16), b.view(torch.bfloat16), c]
    traced = compile_with_lines(host_of(half_op(BF16), ("K_SW128", "K_SW128")), fakes(tensors, BF16), "sm_90a")
    run(replace(traced, ptx=as_tf32(traced.ptx)), tensors, BF16)
    assert "tf32" in as_tf32(traced.ptx)
    torch.testing.assert_close(c, a @ b.T, rtol=1e-5, atol=1e-5)


WRONG = [
    ("fence.proxy.async.shared::cta;", "", "proxy", "since no proxy fence lies between"),
    ("fence.proxy.async.shared::cta;", "fence.proxy.async.global;", "proxy", "since no proxy fence lies between"),
    ("bar.sync \t0;", "", "race", "with no barrier between"),
    ("wgmma.fence.sync.aligned;", "", "race", "has no wgmma.fence before its first wgmma"),
    ("wgmma.commit_group.sync.aligned;", "", "unwaited", "no wait_group has covered it"),
    ("wgmma.wait_group.sync.aligned \t0;", "", "unwaited", "no wait_group has covered it"),
    ("wgmma.wait_group.sync.aligned \t0;", "wgmma.wait_group.sync.aligned 1;", "unwaited", "no wait_group has covered"),
]


@pytest.mark.parametrize(("old", "new", "kind", "says"), WRONG)
def test_what_wgmma_needs_is_missed(old, new, kind, says):
    *_, report = multiply(half_op(BF16), BF16, ("K_SW64", "K_SW64"), 32, change=lambda ptx: ptx.replace(old, new))
    assert [finding.message for finding in report.findings if finding.kind == kind and says in finding.message]


def test_those_who_read_may_fence():
    """As Triton has it: the barrier first, then a fence by every warp."""
    fence, barrier = "fence.proxy.async.shared::cta;", "bar.sync \t0;"

    def change(ptx):
        return ptx.replace(fence, "").replace(barrier, f"{barrier} {fence}")

    *_, report = multiply(half_op(BF16), BF16, ("K_SW64", "K_SW64"), 32, change=change)
    assert not report.findings
