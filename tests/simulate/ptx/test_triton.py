"""What Triton makes of its own kernels (corpus/triton_kernels.py): masked cp.async, stages, ldmatrix, mma.sync."""

import re
from functools import partial
from pathlib import Path

import pytest
import torch

from tutorlib.simulate.ptx.findings import by_loc
from tutorlib.simulate.ptx.launch import run as run_ptx
from tutorlib.simulate.ptx.parse import parse_ptx

CORPUS = Path(__file__).parent / "corpus"
BLOCK_M, BLOCK_N = 64, 64
SMEM = {"matmul": 16384, "attention": 24576}  # bytes that Triton's launcher asks for


def ptx_of(name):
    return (CORPUS / f"triton_{name}.ptx").read_text(encoding="utf-8")


def run(name, ptx, grid, arguments):
    find = partial(by_loc, source=(CORPUS / "triton_kernels.py").read_text(encoding="utf-8"))
    pointers = {"scratch": 0, "profile": 0}  # of Triton's own, for kernels that need them
    return run_ptx(ptx, grid, (128,), arguments | pointers, SMEM[name], name, find=find)


def halves(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).half()


def matmul(m=150, n=144, k=112, ptx=None, rows=None):
    """c = a·b, what it should be, and the report. rows: what the kernel is told in place of m."""
    a, b, c = halves(m, k), halves(k, n), torch.full((m, n), float("nan")).half()
    arguments = {"a": a, "b": b, "c": c, "M": rows or m, "N": n, "K": k, "stride_a": k, "stride_b": n, "stride_c": n}
    report = run("matmul", ptx or ptx_of("matmul"), (-(-m // BLOCK_M), -(-n // BLOCK_N)), arguments)
    return c.float(), a.float() @ b.float(), report


def attention(t=150, ptx=None):
    q, k, v = halves(t, 64), halves(64, t).T.contiguous(), halves(t + 1, 64)[1:].clone()
    out = torch.full((t, 64), float("nan")).half()
    to_base_2 = 1.4426950408889634
    arguments = {"q": q, "k": k, "v": v, "out": out, "T": t, "scale": to_base_2 / 8}
    report = run("attention", ptx or ptx_of("attention"), (-(-t // BLOCK_M),), arguments)
    want = torch.nn.functional.scaled_dot_product_attention(*(x.float()[None] for x in (q, k, v)), scale=1 / 8)[0]
    return out.float(), want, report


@pytest.mark.parametrize(("m", "n", "k"), [(150, 144, 112), (64, 64, 32), (1, 16, 16)])
def test_matmul_equals_torch(m, n, k):
    c, want, report = matmul(m, n, k)
    torch.testing.assert_close(c, want, rtol=2**-10, atol=1e-3)  # one rounding to fp16
    assert not report.findings


@pytest.mark.parametrize("t", [150, 20])
def test_attention_equals_torch(t):
    out, want, report = attention(t)
    torch.testing.assert_close(out, want, rtol=2**-8, atol=1e-3)  # the weights are rounded to fp16 too
    assert not report.findings


def test_triton_lays_its_tiles_without_bank_conflicts():
    taken, needed = matmul()[2].total("shared", "ldmatrix")
    assert taken == needed > 0


def test_a_finding_names_the_line_of_triton():
    load, store = matmul(rows=151)[2].findings
    assert "copies a[150, 0], which lies outside a of shape (150, 112)" in load.message
    assert load.place.text.startswith("a = tl.load(a_ptrs")
    assert "stores c[150, 0]" in store.message
    assert store.place.text.startswith("tl.store(c_ptrs")


ORDERS = re.compile(r"(?m)^\s*(bar\.sync|cp\.async\.(?:commit|wait)_group)[^;]*;")


HARMLESS = {  # by their number in the PTX
    matmul: {
        0,  # the first tile of a then shares a group with b's
        *(6, 7),  # a wait and a barrier for what the iteration before has waited for
        *(11, 12),  # one wait stands there twice
    },
    attention: {
        0,  # as above
        *(9, 10),  # what is in flight at the end is zeros to buffers of k and v; the result goes through q's
    },
}


@pytest.mark.parametrize("kernel", HARMLESS)
def test_what_the_kernels_lose_without_their_synchronisation(kernel):
    text = ptx_of(kernel.__name__)
    unnoticed = set()
    for number, call in enumerate(ORDERS.finditer(text)):
        out, want, report = kernel(ptx=text[: call.start()] + "\n" + text[call.end() :])
        kinds = {finding.kind for finding in report.findings}
        assert kinds <= ({"race"} if call[1] == "bar.sync" else {"unwaited"})
        if not kinds:
            unnoticed.add(number)
            torch.testing.assert_close(out, want, rtol=2**-8, atol=1e-3)
    assert unnoticed == HARMLESS[kernel]


def test_an_instruction_of_inline_assembly_has_the_line_before_it():
    """Within the text of inline assembly LLVM counts the lines of that text, in braces or not."""
    inline = "// begin inline asm\n.loc 1 7 0\nmov.u32 %r1, 1;\n.loc 1 8 0\nmov.u32 %r2, 2;\n// end inline asm"
    body = f".reg .b32 %r<3>;\n.loc 1 7 0\n{inline}\n{{\n.loc 1 9 0\nmov.u32 %r0, 3;\n}}\nret;"
    module = parse_ptx(f".target sm_80\n.visible .entry k()\n{{\n{body}\n}}\n")
    assert [one.location.line for one in module.kernels["k"].instructions] == [7, 7, 9, 9]
