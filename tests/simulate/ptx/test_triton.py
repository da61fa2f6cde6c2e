"""What Triton makes of its own matmul, corpus/triton_matmul.py: masked cp.async, three stages, ldmatrix, mma.sync."""

from pathlib import Path

import pytest
import torch

from tutorlib.simulate.ptx.launch import pick_kernel, run_kernel
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import by_loc

SOURCE = Path(__file__).parent / "corpus" / "triton_matmul.py"
BLOCK_M, BLOCK_N = 64, 64
SMEM = 16384  # bytes that Triton's launcher asks for: two buffers of 64×32 and 32×64


def matmul(m, n, k, ptx=None, rows=None):
    """c = a·b, what it should be, and the report. rows: what the kernel is told in place of m."""
    dice = torch.Generator().manual_seed(0)
    a = torch.randn(m, k, generator=dice).half()
    b = torch.randn(k, n, generator=dice).half()
    c = torch.full((m, n), float("nan")).half()
    module = parse_ptx(ptx or SOURCE.with_suffix(".ptx").read_text(encoding="utf-8"))
    arguments = {"a": a, "b": b, "c": c, "M": rows or m, "N": n, "K": k, "stride_a": k, "stride_b": n, "stride_c": n,
                 "scratch": 0, "profile": 0}  # fmt: skip
    grid, find = (-(-m // BLOCK_M), -(-n // BLOCK_N)), by_loc(module, SOURCE.read_text(encoding="utf-8"))
    report = run_kernel(module, pick_kernel(module, "matmul"), grid, (128,), arguments, SMEM, find)
    return c, a.float() @ b.float(), report


@pytest.mark.parametrize(("m", "n", "k"), [(150, 144, 112), (64, 64, 32), (1, 16, 16)])
def test_triton_equals_torch(m, n, k):
    c, want, report = matmul(m, n, k)
    torch.testing.assert_close(c.float(), want, rtol=2**-10, atol=1e-3)  # one rounding to fp16
    assert not report.findings


def test_triton_lays_its_tiles_without_bank_conflicts():
    taken, needed = matmul(150, 144, 112)[2].total("shared", "ldmatrix")
    assert taken == needed > 0


def test_a_finding_names_the_line_of_triton():
    _, _, report = matmul(150, 144, 112, rows=151)
    load, store = report.findings
    assert "copies a[150, 0], which lies outside a of shape (150, 112)" in load.message
    assert load.place.text.startswith("a = tl.load(a_ptrs")
    assert "stores c[150, 0]" in store.message
    assert store.place.text.startswith("tl.store(c_ptrs")


def test_a_wait_that_leaves_a_group_too_many():
    """Each tile of a and of b is a group: with three of them under way, the b that is read next may be."""
    ptx = SOURCE.with_suffix(".ptx").read_text(encoding="utf-8")
    assert "cp.async.wait_group \t2" in ptx
    _, _, report = matmul(64, 64, 96, ptx.replace("cp.async.wait_group \t2", "cp.async.wait_group \t3"))
    assert {finding.kind for finding in report.findings} == {"unwaited"}
    assert report.findings[0].place.text.startswith("b = tl.load(b_ptrs")
