"""tcgen05 on the simulator: the Blackwell kernel's result, and what is noticed where its loops are wrong."""

from dataclasses import replace

import pytest
import torch

from tests.pages.change import swap
from tests.pages.table import base_of
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.blackwell.config import BlackwellConfig
from tutorlib.kernels.blackwell.gemm import course_parts, make_blackwell_gemm
from tutorlib.kernels.blackwell.parts import multiply_tiles, produce_tiles, release, store_tiles
from tutorlib.simulate.ptx.languages.cute import compile_with_lines, simulate_host

ALONE = BlackwellConfig((128, 64, 64), stages=2)
PAIR = BlackwellConfig((256, 128, 64), pair=True, stages=2)


def simulated(config, parts, shape, sms):
    """(C, what the simulator noticed, exact C)"""
    m, n, k = shape
    generator = torch.Generator().manual_seed(15)
    a, b = (torch.randn(rows, k, generator=generator).bfloat16() for rows in (m, n))
    c = torch.full((m, n), torch.nan).bfloat16()
    tensors = {"a": a, "b": b, "c": c}
    specs = [TensorSpec(tuple(x.shape), "bf16") for x in tensors.values()]
    compiled = compile_with_lines(make_blackwell_gemm(config, parts, sms), specs, "sm_100a")
    (report,) = simulate_host(compiled, tensors)
    return c, report.findings, a.double() @ b.double().T


@pytest.mark.parametrize(
    ("config", "shape", "sms"),
    [(ALONE, (129, 136, 200), 2), (PAIR, (129, 264, 136), 2)],
    ids=["a block", "a pair"],
)
def test_the_kernel_is_right_at_all_edges(config, shape, sms):
    got, findings, exact = simulated(config, None, shape, sms)
    assert findings == ()
    assert (got.double() - exact).abs().max() <= 2**-8 * exact.abs().max()


WAIT = "            cute.arch.mbarrier_wait(steps.{} + acc.index, acc.phase)\n"
FREES = "        cute.arch.dealloc_tmem(acc, columns, is_two_cta=pair)"
FULL = "                cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)\n"
FAULTS = {  # by name: the part, what of it is replaced, and what the finding is
    "reads_too_early": (
        "store", store_tiles, WAIT.format("ready")[4:], "",
        "unwritten", "to which no tcgen05.mma has been issued"),
    "overwrites_accumulators": (
        "multiply", multiply_tiles, WAIT.format("free"), "",
        "race", "lets tcgen05.mma write over accumulators"),
    "multiplies_too_early": ("multiply", multiply_tiles, FULL, "", "unwaited", "the tcgen05.mma of warp 4"),
    "overwrites_a_stage": (
        "produce", produce_tiles, "state.phase)\n            if", "1)\n            if",
        "mbarrier", "more threads arrive"),
    "never_waits_for_a_load": (
        "store", store_tiles, "            cute.arch.fence_view_async_tmem_load()\n", "",
        "race", "may still be reading"),
    "keeps_its_columns": ("release", release, FREES, "        pass", "unwaited", "that were never freed"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_noticed(name):
    part, right, old, new, kind, words = FAULTS[name]
    parts = replace(course_parts(), **{part: base_of(right)([swap(old, new)], name)})
    _, findings, _ = simulated(ALONE, parts, (128, 192, 256), 1)
    assert any(finding.kind == kind and words in finding.message for finding in findings), findings
