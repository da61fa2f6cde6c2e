"""16.13: an operator, registered with torch from the functions that it is made of.

The judge passes functions of its own: a kernel with a random factor, and a backward with another, which is no
derivative. So the results show whose functions were registered.
"""

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.graded_run import rng_of_run
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n16_fusion.judge.registered import (
    told_of_autocast,
    told_of_backward,
    told_of_compiled,
    told_of_eager,
    told_of_fake_result,
)
from tutorlib.exercises.n16_fusion.operators import draw, is_close, it_raised
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor


class OperatorFlaw(FailureKind):
    """What is wrong with a registered operator."""

    NO_OPERATOR = "no operator"
    FAKE = "no fake"
    BACKWARD = "no backward"
    GRADIENTS = "another function's gradients"
    SAVED = "inputs not saved"
    KEPT = "more kept than the inputs"
    CALLS = "calls of forward"
    COPIES = "copies"
    DEVICES = "for the CPU alone"
    COMPILED = "not compiled by torch"
    AUTOCAST = "no autocast"


def kernel(factor: float, x: "Tensor", weight: "Tensor", bias: "Tensor") -> "Tensor":
    import torch

    with torch.autocast("cpu", enabled=False):
        return factor * (x @ weight.mT + bias)


def inputs(rng: Random, dtype: str = "float64") -> "tuple[Tensor, ...]":
    """x of some modes, weight and bias."""
    *rows, k, n = (rng.randint(2, 9) for _ in range(rng.randint(3, 4)))
    return draw((*rows, k), (n, k), (n,), seed=rng.getrandbits(32), dtype=dtype)


def gradient_of_result(rng: Random, given: "tuple[Tensor, ...]") -> "Tensor":
    x, weight, _ = given
    (grad,) = draw((*x.shape[:-1], len(weight)), seed=rng.getrandbits(32))
    return grad


def backward(scale: float, grad: "Tensor", x: "Tensor", weight: "Tensor") -> "list[Tensor]":
    rows = grad.flatten(0, -2)
    return [scale * (grad @ weight), scale * (rows.mT @ x.flatten(0, -2)), scale * rows.sum(0)]


def asked(answer: Served, question: Any, *args: Any) -> tuple[dict[str, Any], Wrong | None]:
    told, wrong = attempt(answer.through(question), args)
    if wrong is None and "instead" in told:
        return told, Wrong(Flaw(f"it returns {told['instead']}.", OperatorFlaw.NO_OPERATOR))
    return told, it_raised(wrong) if wrong else None


def eager(name: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        rng = rng_of_run(16)
        given, factor = inputs(rng), rng.uniform(0.5, 2.0)
        told, wrong = asked(answer, told_of_eager, partial(kernel, factor), given)
        if wrong:
            return wrong
        if told["called"] > 1:
            return Wrong(Flaw(f"it calls forward {told['called']} times; once is enough.", OperatorFlaw.CALLS))
        if not is_close(told["result"], kernel(factor, *given)):
            return Wrong("its result is not forward's.")
        if told["copied"]:
            what = "it copies inputs or the result; forward takes the tensors, and its result is the operator's."
            return Wrong(Flaw(what, OperatorFlaw.COPIES))
        if not told["on_gpu"]:
            return Wrong(Flaw('it has no implementation for "cuda".', OperatorFlaw.DEVICES))
        return None

    return Case(name, judge)


def traced(name: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        given = inputs(rng_of_run(16))
        told, wrong = asked(answer, told_of_fake_result, partial(kernel, 1.0), given)
        if wrong:
            return wrong
        if "error" in told:
            what = f"called with tensors that have no data, it fails: {told['error']}."
            return Wrong(Flaw(what, OperatorFlaw.FAKE))
        if told["called"]:
            what = "called with tensors that have no data, it runs forward, and a kernel cannot run without data."
            return Wrong(Flaw(what, OperatorFlaw.FAKE))
        if told["shape"] != [*given[0].shape[:-1], len(given[1])]:
            return Wrong(Flaw("its fake is not the one that it was given.", OperatorFlaw.FAKE))
        return None

    return Case(name, judge)


def differentiated(name: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        rng = rng_of_run(16)
        given, scale = inputs(rng), rng.uniform(2.0, 3.0)
        grad = gradient_of_result(rng, given)
        told, wrong = asked(answer, told_of_backward, partial(kernel, 1.0), scale, given, grad)
        if wrong:
            return wrong
        if "error" in told:
            return Wrong(Flaw(f"backward() fails: {told['error']}.", OperatorFlaw.BACKWARD))
        if not all(map(is_close, told["gradients"], backward(scale, grad, *given[:2]))):
            what = "its gradients are not those of the backward that it was given: backward(grad, x, weight, bias)."
            return Wrong(Flaw(what, OperatorFlaw.GRADIENTS))
        if not told["refuses"]:
            what = (
                "when an input is changed in place between forward and backward, the gradients are wrong without an "
                "error: torch does not know that the backward needs the inputs."
            )
            return Wrong(Flaw(what, OperatorFlaw.SAVED))
        if told["keeps_more"]:
            what = "until backward() it keeps the result or copies in memory; backward needs only grad and the inputs."
            return Wrong(Flaw(what, OperatorFlaw.KEPT))
        return None

    return Case(name, judge)


def compiled(name: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        rng = rng_of_run(16)
        factor, scale = rng.uniform(0.5, 2.0), rng.uniform(2.0, 3.0)
        calls = []
        for rows in (5, 9):
            given = draw((3, rows, 4), (6, 4), (6,), seed=rng.getrandbits(32))
            calls.append((*given, gradient_of_result(rng, given)))
        told, wrong = asked(answer, told_of_compiled, partial(kernel, factor), scale, calls)
        if wrong:
            return wrong
        if "error" in told:
            return Wrong(Flaw(f"torch.compile(…, fullgraph=True) fails: {told['error']}.", OperatorFlaw.COMPILED))
        for got, (x, weight, bias, grad) in zip(told["results"], calls, strict=True):
            wanted = [2.0 * kernel(factor, x, weight, bias), *backward(2.0 * scale, grad, x, weight)]
            if not all(map(is_close, got, wanted)):
                return Wrong(Flaw("compiled, it gives other results than in eager mode.", OperatorFlaw.COMPILED))
        return None

    return Case(name, judge)


def cast(name: str) -> Case:
    def judge(answer: Served) -> Wrong | None:
        told, wrong = asked(answer, told_of_autocast, partial(kernel, 1.0), inputs(rng_of_run(16), "float32"))
        if wrong:
            return wrong
        if told["dtype"] != "bfloat16":
            what = f"from fp32 under torch.autocast to bf16 it returns {told['dtype']}; nn.Linear returns bfloat16."
            return Wrong(Flaw(what, OperatorFlaw.AUTOCAST))
        if not told["on_gpu"]:
            what = 'it has a rule for autocast on the CPU and none for "cuda".'
            return Wrong(Flaw(what, OperatorFlaw.AUTOCAST))
        return None

    return Case(name, judge)
