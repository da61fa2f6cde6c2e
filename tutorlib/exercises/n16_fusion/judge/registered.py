"""Describes an operator that an answer registers from the judge's functions. Runs in the answer's process."""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served
from tutorlib.exercises.n16_fusion.judge.held_memory import allocations, held_besides

if TYPE_CHECKING:
    from torch import Tensor

Told = dict[str, Any]
Question = Callable[..., Told]
NUMBERS = count()  # each registration has a name of its own


class Instead(Exception):
    """The answer returned something else. What, and what it should be."""


def told(question: Question) -> Question:
    """The question, for which Instead is a reply."""

    @wraps(question)
    def asked(answer: Served, *args: Any) -> Told:
        try:
            return question(answer, *args)
        except Instead as error:
            return {"instead": str(error)}

    return asked


def registered(answer: Served, kernel: Any, scale: float) -> Any:
    """The operator that the answer makes of `kernel` (x, weight, bias → a tensor) and a backward times `scale`.

    Raises Instead, and what the answer raises.
    """
    from torch import Tensor

    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return kernel(x.detach(), weight.detach(), bias.detach())

    def fake(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return x.new_empty(*x.shape[:-1], weight.shape[0])

    def backward(grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        rows = grad.flatten(0, -2)
        return scale * (grad @ weight), scale * (rows.mT @ x.flatten(0, -2)), scale * rows.sum(0)

    name = f"judge16::linear{next(NUMBERS)}"
    operator = answer(name, forward, fake, backward)
    overload = overload_of(operator)
    if overload is None:
        raise Instead(f"a {type(operator).__name__}; it should return the operator, as torch.library.custom_op does")
    if overload._schema.name != name:
        raise Instead(f"the operator {overload._schema.name}; it should make and return {name}, as it was called")
    return operator


def overload_of(operator: Any) -> Any:
    """torch's own object for an operator, in whichever form it was returned; None for anything else."""
    import torch

    operator = getattr(operator, "_opoverload", operator)  # of a CustomOpDef
    if isinstance(operator, torch._ops.OpOverloadPacket):
        operator = operator.default
    return operator if isinstance(operator, torch._ops.OpOverload) else None


@told
def told_of_eager(answer: Served, kernel: Any, given: "Sequence[Tensor]") -> Told:
    """The operator's result, how often it called forward, with other memory or not, and whether a GPU has it, too."""
    import torch

    called = []

    def noted(*inputs: "Tensor") -> "Tensor":
        result = kernel(*inputs)
        called.append([one.data_ptr() for one in (*inputs, result)])
        return result

    operator = registered(answer, noted, 1.0)
    result = operator(*given).detach()
    name = overload_of(operator)._schema.name
    return {
        "result": result,
        "called": len(called),
        "copied": [one.data_ptr() for one in (*given, result)] not in called,
        "on_gpu": torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CUDA"),
    }


@told
def told_of_fake_result(answer: Served, kernel: Any, given: "Sequence[Tensor]") -> Told:
    """The shape of the operator's result for tensors without data, or the error; and whether forward was called."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    called = []

    def noted(*inputs: "Tensor") -> "Tensor":
        called.append(inputs)
        return kernel(*inputs)

    operator = registered(answer, noted, 1.0)
    with FakeTensorMode() as mode:
        try:
            return {"shape": [*operator(*map(mode.from_tensor, given)).shape], "called": bool(called)}
        except Exception as error:
            return {"error": first_sentence(error)}


@told
def told_of_backward(answer: Served, kernel: Any, scale: float, given: "Sequence[Tensor]", grad: "Tensor") -> Told:
    """The three gradients, or the error; whether changed inputs are refused, and whether more than inputs is kept."""
    import torch

    operator = registered(answer, kernel, scale)
    leaves = [one.clone().requires_grad_() for one in given]
    try:
        gradients = torch.autograd.grad(operator(*leaves), leaves, grad)
    except Exception as error:
        return {"error": first_sentence(error)}
    refuses = all(map(refuses_changes(operator, given, grad), range(2)))
    return {"gradients": [*gradients], "refuses": refuses, "keeps_more": keeps_more(operator, given)}


def refuses_changes(operator: Any, given: "Sequence[Tensor]", grad: "Tensor") -> Callable[[int], bool]:
    import torch

    def refuses(which: int) -> bool:
        leaves = [one.clone().requires_grad_() for one in given]
        result = operator(*leaves)
        with torch.no_grad():
            leaves[which].mul_(2.0)
        with suppress(RuntimeError):  # torch has seen that a saved tensor was changed
            torch.autograd.grad(result, leaves, grad)
            return False
        return True

    return refuses


def keeps_more(operator: Any, given: "Sequence[Tensor]") -> bool:
    """Whether other memory than the inputs' stays allocated for the backward when nothing else refers to it."""
    leaves = [one.clone().requires_grad_() for one in given]
    with allocations() as allocated:
        node = operator(*leaves).grad_fn
    return node is not None and held_besides(allocated, leaves)


@told
def told_of_compiled(answer: Served, kernel: Any, scale: float, calls: "Sequence[Sequence[Tensor]]") -> Told:
    """For each call (x, weight, bias, grad) the result and the gradients of one compiled function; or the error."""
    import torch

    operator = registered(answer, kernel, scale)
    torch.compiler.reset()  # forgets the functions of earlier checks, of which it compiles a few only
    compiled = torch.compile(lambda *args: 2.0 * operator(*args), fullgraph=True, dynamic=True, backend="aot_eager")
    results = []
    with silent():
        try:
            for *given, grad in calls:
                leaves = [one.clone().requires_grad_() for one in given]
                result = compiled(*leaves)
                results.append([result.detach(), *torch.autograd.grad(result, leaves, grad)])
        except Exception as error:
            return {"error": first_sentence(error)}
    return {"results": results}


@contextmanager
def silent() -> Iterator[None]:
    """Without torch's own reports of an error, pages long, above ours."""
    logging.disable()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)


@told
def told_of_autocast(answer: Served, kernel: Any, given: "Sequence[Tensor]") -> Told:
    """The dtype of the result under autocast to bf16 on the CPU; and whether there is a rule for GPUs."""
    import torch

    operator = registered(answer, kernel, 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        dtype = str(operator(*given).dtype).removeprefix("torch.")
    name = overload_of(operator)._schema.name
    return {"dtype": dtype, "on_gpu": torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA")}


def first_sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition('. ')[0].splitlines()[0].rstrip('.')}"[:300]
