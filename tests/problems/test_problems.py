"""Problems: their inputs, their references and what their bounds allow."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tutorlib.kernels.attention import launch
from tutorlib.kernels.attention.operator import attention_backward
from tutorlib.problems.attention import attention_problem, decoding_problem, gradient_problem
from tutorlib.problems.catalogue import copy, gemm, gemm_fp8, gemm_m_major, gemm_tf32, transpose, vector_add
from tutorlib.problems.problem import torch_dtype
from tutorlib.simulate.stand_in.tiles import launches_interpreted


def gemm_into(dtype, out):
    problem = gemm(dtype)
    return replace(problem, output=replace(problem.output, dtype=out))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_float32_reference_differs_by_a_small_part_of_the_bound():
    problem = gemm("bf16")
    inputs = problem.random((64, 96, 8192), generator())
    exact, allowed = problem.expected(inputs, (64, 96, 8192))
    quick, also_allowed = problem.expected(inputs, (2**11, 2**11, 2**11))  # a shape above 2^33 operations
    assert quick.dtype == torch.float32
    only_summing = allowed - exact.abs() * 2**-8
    assert ((quick - exact).abs() < 0.1 * only_summing).all()
    assert torch.allclose(also_allowed.double(), allowed, rtol=1e-4)


def test_random_inputs_are_new_for_every_seed_and_scaled():
    problem = gemm("bf16")
    a, b = problem.random((256, 256, 1024), generator(1))
    assert not torch.equal(a, problem.random((256, 256, 1024), generator(2))[0])
    assert a.float().std() == pytest.approx(1, rel=0.02)
    assert b.float().std() == pytest.approx(1024**-0.5, rel=0.02)


SHAPE = {"MN": (96, 160), "N": (1000,), "MNK": (96, 160, 320)}
LARGE = {"MN": (256, 512), "N": (4096,), "MNK": (256, 512, 320)}
PROBLEMS = [copy("bf16"), copy("fp32"), vector_add("fp32"), vector_add("bf16"), gemm("bf16"), gemm("fp16")]
PROBLEMS += [gemm_tf32(), gemm_fp8()]
TRANSPOSE = transpose("fp32")  # whose baseline is a copy of as many bytes


def name_of(problem):
    return f"{problem.name}-{problem.inputs[0].dtype}-{problem.output.dtype}"


@pytest.mark.parametrize("problem", PROBLEMS, ids=name_of)
def test_the_baseline_is_within_the_bound(problem):
    shape = SHAPE[problem.dims]
    for inputs in (problem.random(shape, generator()), problem.pattern(shape, "cpu")):
        want, allowed = problem.expected(inputs, shape)
        output = torch.empty(problem.shape_of(problem.output, shape), dtype=torch_dtype(problem.output.dtype))
        problem.baseline(output, *inputs)
        assert ((output.double() - want).abs() <= allowed).all()


def test_a_transposes_baseline_moves_as_many_bytes():
    (src,) = TRANSPOSE.random((96, 160), generator())
    output = torch.empty(160, 96)
    TRANSPOSE.baseline(output, src)
    assert torch.equal(output.view(96, 160), src)


@pytest.mark.parametrize("problem", [*PROBLEMS, TRANSPOSE], ids=name_of)
def test_the_pattern_tells_a_swap_of_blocks(problem):
    shape = LARGE[problem.dims]
    want, allowed = problem.expected(problem.pattern(shape, "cpu"), shape)
    for block in (8, 64, 128):
        for mode in range(want.dim()):
            swapped = want.roll(block, mode)
            assert ((swapped - want).abs() > allowed).any(mode).all()


EXACT = [
    problem for problem in (*PROBLEMS, TRANSPOSE) if problem.name != "vector_add"
]  # a sum of two ramps reaches 500


@pytest.mark.parametrize("problem", EXACT, ids=name_of)
def test_the_patterns_result_is_exact_in_the_outputs_dtype(problem):
    shape = SHAPE[problem.dims]
    want, _ = problem.expected(problem.pattern(shape, "cpu"), shape)
    assert torch.equal(want.to(torch_dtype(problem.output.dtype)).double(), want)


def test_a_column_major_operand_has_the_same_values_in_another_order():
    plain, columns = (problem.pattern((16, 8, 4), "cpu") for problem in (gemm("bf16"), gemm_m_major("bf16")))
    assert [one.stride() for one in columns] == [(1, 16), (4, 1)]
    assert all(map(torch.equal, plain, columns))
    a, _ = gemm_m_major("bf16").random((16, 8, 4), generator())
    assert a.stride() == (1, 16)


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


ATTENTION_SHAPE = (2, 4, 2, 70, 70, 64)


@pytest.mark.parametrize("causal", [False, True])
def test_the_gradient_is_torchs_and_the_operators_is_within_its_bound(causal):
    problem = gradient_problem(causal)
    inputs = problem.random(ATTENTION_SHAPE, torch.Generator().manual_seed(0))
    q, k, v, do, o, lse, *_ = inputs
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    result = scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=True)
    want = torch.autograd.grad(result, leaves, do.double())
    expected, allowed = problem.expected(inputs, ATTENTION_SHAPE)
    torch.testing.assert_close(expected, want[0], rtol=2**-6, atol=2**-6)  # o is rounded to bf16
    dq, _, _ = attention_backward(do, q, k, v, o, lse, 64**-0.5, causal)
    assert ((dq.double() - expected).abs() <= allowed).all()
    assert problem.flops(ATTENTION_SHAPE) == 2.5 * attention_problem(causal).flops(ATTENTION_SHAPE)


@pytest.mark.parametrize("causal", [False, True])
def test_the_pattern_has_one_key_that_matters_and_maxima_that_rise_and_fall(causal):
    problem = attention_problem(causal)
    q, k, v = problem.pattern(ATTENTION_SHAPE, "cpu")
    s = (q[0, 0].double() @ k[0, 0].double().mT * 64**-0.5)[-1]
    assert s.argmax() == 35
    assert (s.diff().abs() == 4).all()
    expected, _ = problem.expected((q, k, v), ATTENTION_SHAPE)
    want = scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=causal, enable_gqa=True)
    torch.testing.assert_close(expected, want)


def test_decoding_is_measured_by_its_bytes():
    shape = (2, 8, 1, 1, 100, 64)
    problem = decoding_problem()
    assert problem.flops(shape) == 0
    inputs = problem.random(shape, torch.Generator().manual_seed(0))
    expected, allowed = problem.expected(inputs, shape)
    o = torch.full_like(inputs[0], torch.nan)
    choice = launch.choose((2, 1, 8, 64), 100, False, 132)
    with launches_interpreted():
        launch.forward_into(o, torch.empty(o.shape[:3]), *inputs, 64**-0.5, False, choice)
    assert ((o.double() - expected).abs() <= allowed).all()
