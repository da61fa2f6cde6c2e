"""NVIDIA's public CuTe examples for Ampere and Hopper, on the simulator, at ragged sizes: all equal torch.

They take the tensors that their own `run` makes for them, but for the GPU.
"""

import operator
import os
import re
from functools import partial
from pathlib import Path

import cuda.bindings.driver as driver
import cutlass
import pytest
import torch
from cutlass.cute.runtime import from_dlpack

from tutorlib.kernels import nvidia_example
from tutorlib.kernels.nvidia_example import EXAMPLES, HOPPER, example, module_of
from tutorlib.simulate.ptx.languages.cute_host import simulate_call
from tutorlib.simulate.ptx.languages.cute_lines import compile_for
from tutorlib.simulate.ptx.languages.cute_memory import OnDevice

pytestmark = [
    pytest.mark.samples(nvidia_example.CHECKOUT),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the DSL's older names, which they use
]

KERNELS = EXAMPLES / "ampere/kernel"
STREAM = driver.CUstream(0)
BF16, FP32 = cutlass.BFloat16, cutlass.Float32


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def unwritten(*shape, dtype=torch.float32):
    return torch.full(shape, float("nan"), dtype=dtype)


def static(tensor):
    return from_dlpack(OnDevice(tensor), assumed_align=16)


def dynamic(tensor, divisibility=None):
    """Row-major, of any size, whose rows begin at multiples of 16 bytes if nothing else is said."""
    last = tensor.ndim - 1 if tensor.shape[-1] > 1 else 1  # matrices may have a third mode, of one batch
    order = (2, 0, 1) if last < tensor.ndim - 1 else tuple(range(tensor.ndim))
    return (
        static(tensor)
        .mark_layout_dynamic(leading_dim=last)
        .mark_compact_shape_dynamic(
            mode=last, stride_order=order, divisibility=divisibility or 16 // tensor.element_size()
        )
    )


def simulated(host, tensors, arguments, constants=(), arch="sm_80"):
    """The report of the kernel that a host function launches. constants: its first arguments, for compilation only."""
    given = arguments(list(tensors.values()))
    (report,) = simulate_call(compile_for(host, [*constants, *given], arch), tensors, given)
    return report


def heads_first(x):
    """(batch, sequence, head, dim) as scaled_dot_product_attention has it: (batch, head, sequence, dim)"""
    return x.permute(0, 2, 1, 3).float()


# element by element ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(64, 256), (70, 300)])
def test_elementwise_add(shape):
    a, b, c = random(*shape), random(*shape).flip(0), unwritten(*shape)
    host = example(KERNELS / "elementwise/elementwise_add.py").elementwise_add
    report = simulated(
        host, {"a": a, "b": b, "c": c}, lambda views: [from_dlpack(OnDevice(x)).mark_layout_dynamic() for x in views]
    )
    assert torch.equal(c, a + b)
    assert not report.findings


def applied(op, *inputs):
    result = unwritten(*inputs[0].shape)
    report = simulated(
        example(KERNELS / "elementwise/elementwise_apply.py").elementwise_apply,
        {**{f"input{n}": x for n, x in enumerate(inputs)}, "result": result},
        lambda views: [[static(x) for x in views[:-1]], static(views[-1]).mark_layout_dynamic(), STREAM],
        constants=[op],
    )
    return result, report


def test_elementwise_apply():
    a, b = random(128, 512), random(128, 512).flip(0)
    result, report = applied(operator.mul, a, b)
    assert torch.equal(result, a * b)
    assert not report.findings


def test_elementwise_apply_of_a_function_of_its_own():
    module = example(KERNELS / "elementwise/elementwise_apply.py")
    a = random(64, 256)
    result, report = applied(partial(module.leaky_relu, alpha=0.01), a)
    assert torch.equal(result, torch.where(a > 0, a, 0.01 * a))
    assert not report.findings


def test_elementwise_apply_has_no_predicate():
    """A find: it computes frgPred and never uses it, so tiles that the matrix does not fill go beyond its end."""
    result, report = applied(operator.neg, a := random(70, 300))
    assert torch.equal(result, -a)
    load, store = report.findings
    assert "lies outside input0 of shape (70, 300)" in load.message
    assert load.place.text == "result = op(*[thrInput.load() for thrInput in thrInputs])"
    assert "lies outside result of shape (70, 300)" in store.message
    assert store.place.text == "thrC.store(result)"


# GEMMs --------------------------------------------------------------------------------------------------------------

SGEMM = KERNELS / "dense_gemm/sgemm.py"
FLASH_ATTENTION = KERNELS / "attention/flash_attention_v2.py"
TENSOROP_GEMM = nvidia_example.AMPERE


def sgemm(module):
    """c, what it should be, and the report; so do the next two."""
    m, n, k = 200, 136, 44
    a, b, c = random(m, k), random(n, k), unwritten(m, n)
    report = simulated(
        module.SGemm(),
        {"a": a, "b": b, "c": c},
        lambda views: [static(views[0]), dynamic(views[1], divisibility=k), dynamic(views[2], divisibility=n)],
    )
    return c, a @ b.T, report


def tensorop_gemm(module, dtype=torch.bfloat16, k=88):
    m, n = 200, 136
    a, b = (random(rows, k, 1, dtype=dtype) for rows in (m, n))
    c = unwritten(m, n, 1, dtype=torch.bfloat16)
    kind = {torch.bfloat16: BF16, torch.float8_e4m3fn: cutlass.Float8E4M3FN, torch.float8_e5m2: cutlass.Float8E5M2}

    def arguments(views):
        bits = [view.view(torch.uint8) if view.element_size() == 1 else view for view in views]
        tensors = [dynamic(view) for view in bits]
        for tensor, view in zip(tensors, views, strict=True):
            tensor.element_type = kind[view.dtype]
        return [*tensors, STREAM]

    report = simulated(
        module.TensorOpGemm(kind[dtype], BF16, FP32, (2, 2, 1)),
        {"a": a, "b": b, "c": c},
        arguments,
        arch="sm_80" if dtype.itemsize == 2 else "sm_89",
    )
    return c[..., 0].float(), a[..., 0].float() @ b[..., 0].float().T, report


def test_sgemm():
    c, want, report = sgemm(example(SGEMM))
    torch.testing.assert_close(c, want, rtol=1e-5, atol=1e-4)
    assert not report.findings


@pytest.mark.parametrize(
    ("dtype", "k"),
    [(torch.bfloat16, 88), (torch.bfloat16, 256), (torch.float8_e4m3fn, 96), (torch.float8_e5m2, 96)],
    ids=str,
)
def test_tensorop_gemm(dtype, k):
    c, want, report = tensorop_gemm(example(TENSOROP_GEMM), dtype, k)
    torch.testing.assert_close(c, want, rtol=2**-7, atol=1e-3)
    assert not report.findings


# attention ----------------------------------------------------------------------------------------------------------


def flash_attention(module, keys=150, causal=False):
    batch, queries, heads, dim, scale = 1, 200, 2, 64, 0.5
    q, k, v = (random(batch, length, heads, dim, dtype=torch.bfloat16) for length in (queries, keys, keys))
    o = unwritten(batch, queries, heads, dim, dtype=torch.bfloat16)
    report = simulated(
        module.FlashAttentionForwardAmpere(dim, 64, 64, 128, causal),
        {"q": q, "k": k, "v": v, "o": o},
        lambda views: [*(dynamic(x) for x in views), scale, STREAM],
    )
    attention = torch.nn.functional.scaled_dot_product_attention
    return heads_first(o), attention(*map(heads_first, (q, k, v)), scale=scale, is_causal=causal), report


@pytest.mark.parametrize(("keys", "causal"), [(150, False), (200, True)])
def test_flash_attention_v2(keys, causal):
    o, want, report = flash_attention(example(FLASH_ATTENTION), keys, causal)
    torch.testing.assert_close(o, want, rtol=2e-2, atol=2e-2)  # P is rounded to bf16 before P·V
    assert not report.findings


@pytest.mark.parametrize(("fast_sigmoid", "causal"), [(False, False), (True, True)])
def test_hstu_attention(fast_sigmoid, causal):
    """NVIDIA's bound: four times the error of torch in bf16."""
    batch, queries, keys, heads, dim = 1, 100, 136, 2, 64
    q, k, v = (random(batch, length, heads, dim, dtype=torch.bfloat16) for length in (queries, keys, keys))
    rab = random(batch, heads, queries, keys, dtype=torch.bfloat16)
    o = unwritten(batch, queries, heads, dim, dtype=torch.bfloat16)
    module = example(KERNELS / "attention/hstu_attention.py")
    host = module.HSTUAttentionForwardAmpere(
        BF16, batch, queries, keys, heads, dim, 64, 64, 128, fast_sigmoid, fast_sigmoid, causal
    )
    tensors = {"q": q, "k": k, "v": v, "o": o, "rab": rab}
    report = simulated(host, tensors, lambda views: [*(dynamic(x) for x in views), STREAM])

    def attention(dtype):
        scores = torch.nn.functional.silu(
            heads_first(q).to(dtype) @ heads_first(k).to(dtype).transpose(-2, -1) + rab.to(dtype)
        )
        scores = scores.tril() if causal else scores
        return (scores @ heads_first(v).to(dtype)).float()

    exact = attention(torch.float32)
    bound = 4 * (attention(torch.bfloat16) - exact).abs().max()
    assert (heads_first(o) - exact).abs().max() <= bound
    assert not report.findings


# each barrier, wait and commit left out ---------------------------------------------------------------------------

ORDERS = re.compile(r"(?m)^( *)(\S*(?:sync_threads|arrive_and_wait|cp_async_wait_group|cp_async_commit_group)\(.*\))$")
HARMLESS = {  # by their number in the file
    SGEMM: {7, 8},  # nothing uses shared memory after these
    TENSOROP_GEMM: {
        0,  # each thread clears what it then copies to itself
        8,  # what is left are empty groups
    },
    FLASH_ATTENTION: set(),
}


@pytest.mark.parametrize("run", [sgemm, tensorop_gemm, flash_attention])
def test_what_the_examples_lose_without_their_synchronisation(run, tmp_path):
    file = {sgemm: SGEMM, tensorop_gemm: TENSOROP_GEMM, flash_attention: FLASH_ATTENTION}[run]
    text = (Path(os.environ[nvidia_example.CHECKOUT]) / file).read_text(encoding="utf-8")
    calls, unnoticed = list(ORDERS.finditer(text)), set()
    for number, call in enumerate(calls):
        without = tmp_path / f"without_{number}.py"  # the DSL reads a kernel's source from its file
        without.write_text(text[: call.start(2)] + "pass" + text[call.end() :], encoding="utf-8")
        got, want, report = run(module_of(without, without.stem))
        kinds = {finding.kind for finding in report.findings}
        assert kinds <= ({"unwaited"} if "cp_async" in call[2] else {"race"})
        if not kinds:
            unnoticed.add(number)
            torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
    assert len(calls) >= 8
    assert unnoticed == HARMLESS[file]


# Hopper -------------------------------------------------------------------------------------------------------------


def gemm_for_hopper(kernel, shape, dtype=torch.bfloat16, clusters=None):
    """clusters: that the GPU holds, for persistent ones."""
    m, n, k = shape
    a, b, c = random(m, k, 1, dtype=dtype), random(n, k, 1, dtype=dtype), unwritten(m, n, 1, dtype=dtype)
    tensors = {"a": a, "b": b, "c": c}
    given = [*map(dynamic, tensors.values())]
    held = [] if clusters is None else [clusters]  # for compilation only
    (report,) = simulate_call(compile_for(kernel, [*given, *held, STREAM], "sm_90a"), tensors, [*given, STREAM])
    want = a[..., 0].float() @ b[..., 0].float().T
    torch.testing.assert_close(c[..., 0].float(), want, rtol=2e-2, atol=2e-2)
    assert not report.findings


@pytest.mark.parametrize(("tile", "cluster"), [((128, 256), (1, 1)), ((128, 128), (2, 1)), ((64, 64), (1, 2))])
def test_dense_gemm_for_hopper(tile, cluster):
    gemm_for_hopper(example(HOPPER).HopperWgmmaGemmKernel(FP32, tile, cluster), (300, 264, 200), torch.float16)


@pytest.mark.parametrize(("tile", "cluster"), [((128, 128), (1, 1)), ((128, 256), (2, 1))])
def test_persistent_dense_gemm_for_hopper(tile, cluster):
    module = example(HOPPER.parent / "dense_gemm_persistent.py")
    gemm_for_hopper(module.HopperWgmmaGemmPersistentKernel(FP32, tile, cluster, 1, True), (300, 520, 264), clusters=2)
