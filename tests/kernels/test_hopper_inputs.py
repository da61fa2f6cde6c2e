"""gemm(a, b, c) takes what TMA takes, and says in one line what to do with the rest."""

import re

import pytest
import torch

from tutorlib.kernels.hopper import torch_gemm
from tutorlib.kernels.hopper.torch_gemm import gemm, kind_of, major_of, majors_of, problem_of

M, N, K = 40, 24, 64


def matrix(*shape, dtype=torch.bfloat16):
    return torch.zeros(*shape, dtype=dtype)


def said(a, b, c) -> str:
    found = problem_of(kind_of("a", a), kind_of("b", b), kind_of("c", c))
    assert found is not None
    assert "\n" not in found
    return found


A, B, C = matrix(M, K), matrix(N, K), matrix(M, N)

REFUSED = [
    ((A.float(), B, C), "a is torch.float32: gemm multiplies bf16, fp16 or float8_e4m3fn"),
    ((A, B.half(), C), "a is torch.bfloat16 and b is torch.float16: both must have one dtype"),
    ((A, B, C.float()), "c is torch.float32: the product of two torch.bfloat16 is rounded to torch.bfloat16"),
    (
        (A.to(torch.float8_e4m3fn), B.to(torch.float8_e4m3fn), C.half()),
        "c is torch.float16: the product of two torch.float8_e4m3fn is rounded to torch.bfloat16",
    ),
    ((A[0], B, C), "a has the shape (64,): gemm takes matrices; for a batch, call it for each"),
    ((A, B.clone().requires_grad_(), C), "b requires a gradient, and gemm has no backward: pass b.detach()"),
    (
        (A, matrix(K, N), C),
        "a is (M, K) = (40, 64) and b is (N, K) = (64, 24): their K differ; b seems to be (K, N): pass b.mT",
    ),
    ((A, matrix(N, 2 * K), C), "a is (M, K) = (40, 64) and b is (N, K) = (24, 128): their K differ"),
    ((A, B, matrix(N, M)), "c is (24, 40), and (M, N) is (40, 24)"),
    (
        (matrix(K, M).mT.to(torch.float8_e4m3fn), B.to(torch.float8_e4m3fn), C),
        "a is transposed: wgmma multiplies 8-bit elements only along rows that are contiguous; pass a.contiguous()",
    ),
    (
        (A, B, matrix(N, M).mT),
        "c is transposed: its columns are contiguous, and the kernel stores rows; pass a matrix of its own",
    ),
    (
        (matrix(K, 2 * M).mT[:M], B, C),
        "a has the strides (1, 80): its elements do not follow one another; pass a.contiguous()",
    ),
    (
        (matrix(K, 41).mT, B, matrix(41, N)),
        "M = 41: a column of 82 bytes, and TMA takes multiples of 16; pad M with zeros to 48",
    ),
    (
        (matrix(M, 2 * K)[:, :K], B, C),
        "a is a part of a wider matrix: its rows are 128 elements apart, not 64; pass a.contiguous()",
    ),
    ((matrix(M, 7), matrix(N, 7), C), "K = 7: a row of 14 bytes, and TMA takes multiples of 16; pad K with zeros to 8"),
    (
        (A, matrix(129, K), matrix(M, 129)),
        "N = 129: a row of 258 bytes, and TMA takes multiples of 16; pad N with zeros to 136",
    ),
    ((A, B, C), "a is on cpu: TMA and wgmma are a Hopper GPU's; pass a.cuda()"),
]


@pytest.mark.parametrize(("matrices", "line"), REFUSED, ids=[line[:50] for _, line in REFUSED])
def test_what_cannot_be_taken_is_refused_in_one_line(matrices, line):
    assert said(*matrices) == line
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        gemm(*matrices)


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 8, 4096), (4096, 8, 8), (127, 1000, 128), (0, 8, 8), (8, 0, 8)])
def test_what_can_be_taken_only_lacks_a_gpu(shape):
    m, n, k = shape
    assert said(matrix(m, k), matrix(n, k), matrix(m, n)).startswith("a is on cpu")


@pytest.mark.parametrize("shape", [(40, 24, 64), (8, 8, 1), (40, 24, 7), (1000, 4096, 129)])
def test_transposed_views_are_taken_as_they_are(shape):
    """And then K, along which nothing is contiguous any more, may be any number."""
    m, n, k = shape
    a, b = matrix(k, m).mT, matrix(k, n).mT
    assert majors_of(kind_of("a", a), kind_of("b", b)) == ("mn", "mn")
    assert said(a, b, matrix(m, n)).startswith("a is on cpu")


def test_a_single_row_or_column_is_seen_as_tma_can_take_it():
    def major(*shape):
        return major_of(kind_of("a", matrix(*shape[::-1]).mT))

    assert (major(1, 64), major(64, 1), major(7, 1), major(1, 7)) == ("k", "mn", "k", "k")
    assert major_of(kind_of("a", matrix(64, 1).to(torch.float8_e4m3fn))) == "k"


def test_rows_of_one_element_and_single_rows_may_have_any_stride():
    """torch says (1, 1) or (8, 1) for the same row, and calls both contiguous."""
    row = matrix(8, 1).mT
    assert row.is_contiguous()
    assert row.stride() != matrix(1, 8).stride()
    assert said(row, matrix(8, 8), matrix(1, 8)).startswith("a is on cpu")


def test_a_list_is_no_tensor():
    with pytest.raises(TypeError, match=r"^b is a list: gemm takes torch tensors$"):
        gemm(A, [[1.0]], C)


class Gpu:
    """A stand-in for torch.cuda and the launcher, with matrices on the CPU."""

    def __init__(self, monkeypatch, capability=(9, 0)):
        self.launched, self.asked = [], 0
        monkeypatch.setattr(torch_gemm, "problem_of", self.problem_of)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: None)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA Something")
        monkeypatch.setattr(torch_gemm, "max_clusters", lambda size: 132 // size)
        monkeypatch.setattr(torch_gemm, "launcher", lambda *args: lambda *matrices: self.launched.append(args))
        torch_gemm.chosen_launch.cache_clear()

    def problem_of(self, *kinds):
        self.asked += 1
        found = problem_of(*kinds)
        return None if found and "is on cpu" in found else found


@pytest.fixture
def gpu(monkeypatch):
    yield Gpu(monkeypatch)
    torch_gemm.chosen_launch.cache_clear()


def test_a_second_call_asks_nothing_again(gpu):
    c = gemm(A, B)
    gemm(A.clone(), B.clone(), c)
    assert gpu.asked == 1
    assert [args[1:] for args in gpu.launched] == [(M, N, K)] * 2
    assert (c.shape, c.dtype) == ((M, N), torch.bfloat16)


def test_other_strides_dtypes_and_shapes_are_asked_about(gpu):
    gemm(A, B, C)
    gemm(A, matrix(K, N).mT, C)
    with pytest.raises(ValueError, match="c is transposed"):
        gemm(A, B, matrix(N, M).mT)
    gemm(A.half(), B.half(), C.half())
    gemm(A, matrix(N + 8, K))
    assert [args[0].dtype for args in gpu.launched] == ["bf16", "bf16", "fp16", "bf16"]
    assert [args[0].callers_majors for args in gpu.launched[:2]] == [("k", "k"), ("k", "mn")]


def test_an_empty_sum_is_zero_and_an_empty_matrix_is_no_launch(gpu):
    c = torch.full((M, N), torch.nan, dtype=torch.bfloat16)
    assert gemm(matrix(M, 0), matrix(N, 0), c).eq(0).all()
    assert gemm(matrix(0, K), B).shape == (0, N)
    assert gpu.launched == []


def test_an_address_between_two_units_is_refused(gpu):
    shifted = torch.zeros(M * K + 1, dtype=torch.bfloat16)[1:].view(M, K)
    with pytest.raises(ValueError, match=r"a begins \d+ bytes after a multiple of 16: pass a.clone()"):
        gemm(shifted, B, C)
    assert gpu.launched == []


def test_another_generation_is_refused(monkeypatch):
    Gpu(monkeypatch, capability=(8, 0))
    with pytest.raises(ValueError, match=r"^NVIDIA Something is sm_80: this kernel is made of Hopper's instructions"):
        gemm(A, B, C)
    torch_gemm.chosen_launch.cache_clear()
