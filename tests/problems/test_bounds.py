"""Error bounds: they take every right way to sum, and tell fp32 accumulation from fp16."""

import pytest
import torch

from tests.problems.inputs import gemm_into, generator
from tutorlib.problems.catalogue import gemm_fp8, gemm_tf32
from tutorlib.problems.problem import torch_dtype


def accumulated(a, b, dtype, step):
    """a·bᵀ with the running sum kept in `dtype`, rounded after every `step` products."""
    total = torch.zeros(a.shape[0], b.shape[0], dtype=dtype)
    for k in range(0, a.shape[1], step):
        total = (total.float() + a[:, k : k + step].float() @ b[:, k : k + step].float().mT).to(dtype)
    return total


def judged(problem, inputs, got):
    a, b = inputs
    want, allowed = problem.expected(inputs, (*a.shape[:1], *b.shape))
    return ((got.double() - want).abs() <= allowed).all()


def fast_sums(a, b):
    """a·bᵀ as an fp8 tensor core adds it: what one instruction adds is cut off below 2^-13 of the largest."""
    total = torch.zeros(a.shape[0], b.shape[0])
    for step in range(0, a.shape[1], 32):
        products = a[:, None, step : step + 32].float() * b[None, :, step : step + 32].float()
        added = torch.cat((total[:, :, None], products), -1)
        unit = 2.0 ** (added.abs().amax(-1, keepdim=True).log2().floor() - 13)
        total = ((added / unit).trunc() * unit).sum(-1)
    return total


class TestTheGemmBound:
    @pytest.mark.parametrize("out", ["bf16", "fp16", "fp32"])
    @pytest.mark.parametrize("k", [64, 256, 2048])
    @pytest.mark.parametrize("dtype", ["bf16", "fp16"])
    def test_rejects_fp16_accumulation_and_takes_fp32(self, dtype, k, out):
        problem = gemm_into(dtype, out)
        inputs = problem.random((64, 96, k), generator(k))
        for step in (1, 8, 16):  # one product at a time, or as many as one tensor core instruction takes
            kept = accumulated(*inputs, torch.float32, step).to(torch_dtype(out))
            assert judged(problem, inputs, kept)
            assert not judged(problem, inputs, accumulated(*inputs, torch.float16, step).to(torch_dtype(out)))

    @pytest.mark.parametrize("seed", range(5))
    def test_takes_fp32_sums_in_any_order(self, seed):
        problem = gemm_into("bf16", "fp32")
        inputs = a, b = problem.random((32, 48, 4096), generator(seed))
        shuffled = torch.randperm(4096, generator=generator(seed))
        halves = a[:, :2048].float() @ b[:, :2048].float().mT + a[:, 2048:].float() @ b[:, 2048:].float().mT
        for got in (a[:, shuffled].float() @ b[:, shuffled].float().mT, halves, a.float() @ b.float().mT):
            assert judged(problem, inputs, got)

    def test_takes_sums_that_are_cut_off_instead_of_rounded(self):
        problem = gemm_into("bf16", "fp32")
        inputs = a, b = problem.random((32, 48, 2048), generator())
        total = torch.zeros(32, 48)
        for k in range(0, 2048, 8):
            exact = total.double() + a[:, k : k + 8].double() @ b[:, k : k + 8].double().mT
            rounded = exact.float()
            over = rounded.double().abs() > exact.abs()
            total = torch.where(over, torch.nextafter(rounded, torch.zeros(())), rounded)
        assert judged(problem, inputs, total)

    def test_rejects_output_rounded_twice(self):
        problem = gemm_into("bf16", "fp32")
        inputs = a, b = problem.random((32, 48, 256), generator())
        assert not judged(problem, inputs, (a.float() @ b.float().mT).bfloat16())


class TestOtherBounds:
    @pytest.mark.parametrize("k", [64, 300, 2048])
    def test_tf32_takes_both_ways_to_tf32_and_rejects_bf16(self, k):
        problem = gemm_tf32()
        inputs = problem.random((64, 96, k), generator(k))

        def cut(x, bits):  # the lowest bits of fp32's 23 set to 0
            return (x.view(torch.int32) >> bits << bits).view(torch.float32)

        def rounded(x, bits):
            return cut((x.view(torch.int32) + (1 << bits - 1)).view(torch.float32), bits)

        for to_tf32 in (cut, rounded):
            a, b = (to_tf32(x, 13) for x in inputs)
            assert judged(problem, inputs, a @ b.mT)
        a, b = (x.bfloat16().float() for x in inputs)
        assert not judged(problem, inputs, a @ b.mT)

    @pytest.mark.parametrize("k", [256, 2048])
    def test_fp8_takes_sums_of_14_bits_and_rejects_a_lost_tile(self, k):
        problem = gemm_fp8()
        inputs = a, b = problem.random((64, 96, k), generator(k))
        assert judged(problem, inputs, fast_sums(a, b).bfloat16())
        assert not judged(problem, inputs, (a[:, 64:].float() @ b[:, 64:].float().mT).bfloat16())
