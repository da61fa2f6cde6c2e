"""What the checker looks at, in the order of the GPU, with calls that are torch's."""

from types import SimpleNamespace

import pytest
import torch

from tests.gpu_kernels import COPY, GEMM
from tests.stand_ins import OnTorch
from tutorlib.checking.running import find_fault
from tutorlib.problems.fused import gelu_of, linear_gelu

pytestmark = pytest.mark.usefixtures("on_cpu")


def said(kernel, shape=(64, 96), exercise=COPY):
    """The fault in a kernel that is torch's, in one line."""
    wrong = find_fault(exercise.problem, OnTorch(kernel), shape)
    return wrong and f"{wrong.what} {wrong.mistake}"


def test_right():
    assert said(lambda src, dst: dst.copy_(src)) is None
    assert said(lambda a, b, c: torch.mm(a, b.mT, out=c), (64, 96, 160), GEMM) is None


def test_writes_nothing():
    assert "Unwritten: all 6,144 elements" in said(lambda src, dst: None)


def test_writes_past_the_end_and_before_the_start():
    def beyond(src, dst, offset):
        dst.copy_(src)
        dst.as_strided((3,), (1,), dst.storage_offset() + offset).fill_(1)

    assert "3 elements after its end, the first 1 past" in said(lambda s, d: beyond(s, d, d.numel()))
    assert "3 elements before its start, the nearest 5 before" in said(lambda s, d: beyond(s, d, -7))


def test_a_nan_of_its_own_in_a_guard_band_is_seen():
    def nan(src, dst):
        dst.copy_(src)
        dst.as_strided((1,), (1,), dst.storage_offset() + dst.numel()).fill_(float("nan"))

    assert "1 element after its end" in said(nan)


def test_changes_its_input():
    def scribbles(src, dst):
        dst.copy_(src)
        src[3, 5] += 1

    assert "changed its input src" in said(scribbles)


def test_what_a_ramp_makes_look_like_lost_digits_random_numbers_tell():
    """GELU of a large number is the number: there it hardly matters whether the bias comes before or after."""
    ramp = SimpleNamespace(problem=linear_gelu())

    def bias_afterwards(a, b, bias, c):
        c.copy_(gelu_of(a.float() @ b.float().mT) + bias)

    def rounds_the_sums(a, b, bias, c):
        c.copy_(gelu_of((a.float() @ b.float().mT).bfloat16().float() + bias))

    assert "Nearly right" not in said(bias_afterwards, (64, 128, 32), ramp)
    assert "Nearly right" in said(rounds_the_sums, (64, 128, 32), ramp)


def test_remembers_an_earlier_output():
    outputs = []

    def remembers(src, dst):
        outputs.append(src.clone())
        dst.copy_(outputs[min(len(outputs), 2) - 1])

    assert "the right result for the inputs of the call before" in said(remembers)


def test_keeps_its_sums_in_fp16():
    def half(a, b, c):
        total = torch.zeros(c.shape, dtype=torch.float16)
        for k in range(a.shape[1]):
            total += (a[:, k, None].float() * b[None, :, k].float()).half()
        c.copy_(total)

    assert "digits are lost" in said(half, (32, 48, 160), GEMM)
