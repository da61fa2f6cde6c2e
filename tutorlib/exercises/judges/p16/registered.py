"""16.13: an operator, registered with torch from the functions that it is made of.

They are a kernel with a random factor, and a backward with another, which is no derivative. So the results show whose
functions were registered.
"""

from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.scenario import judged_by_record
from tutorlib.checking.served import Served
from tutorlib.exercises.judges.p16.gradients import draw, is_close
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from torch import Tensor

NUMBERS = count()  # each registration has a name of its own
Record = dict[str, Any]


class OperatorFlaw(FailureKind):
    """What is wrong with a registered operator."""

    NO_OPERATOR = "no operator"
    FAKE = "no fake"
    BACKWARD = "no backward"
    GRADIENTS = "another function's gradients"
    AUTOCAST = "no autocast"


def forward_of(factor: float, x: "Tensor", weight: "Tensor", bias: "Tensor") -> "Tensor":
    import torch

    with torch.autocast("cpu", enabled=False):
        return factor * (x @ weight.mT + bias)


def backward_of(scale: float, grad: "Tensor", x: "Tensor", weight: "Tensor") -> "tuple[Tensor, ...]":
    rows = grad.flatten(0, -2)
    return scale * (grad @ weight), scale * (rows.mT @ x.flatten(0, -2)), scale * rows.sum(0)


# In the answer's process ----------------------------------------------------------------------------------------------


def registered(answer: Served, part: str, factor: float, scale: float, given: "list[Tensor]", grad: "Tensor") -> Record:
    """Runs where the answer is. What one of PARTS gives of the operator that it makes, or the error.

    Raises WrongKind, and what the answer raises.
    """
    import torch
    from torch import Tensor

    called: list[int] = []

    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        called.append(1)
        return forward_of(factor, x.detach(), weight.detach(), bias.detach())

    def fake(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return x.new_empty(*x.shape[:-1], weight.shape[0])

    def backward(grad: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        return backward_of(scale, grad, x, weight)

    name = f"judge16::linear{next(NUMBERS)}"
    operator = answer(name, forward, fake, backward)
    overload = getattr(operator, "_opoverload", operator)  # of a CustomOpDef
    if isinstance(overload, torch._ops.OpOverloadPacket):
        overload = overload.default
    if not isinstance(overload, torch._ops.OpOverload) or overload._schema.name != name:
        what = f"it should make the operator {name} and return it; it returns {operator!r}."
        raise WrongKind(Flaw(what, OperatorFlaw.NO_OPERATOR))
    try:
        got, error = PARTS[part](operator, given, grad), ""
        if part == "tensors without data" and called:
            error = ": it runs forward"
        if part == "autocast" and not torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCUDA"):
            error = ": it has no rule for CUDA devices"
        return {"got": got, "error": error}
    except Exception as raised:
        first = str(raised).strip().partition(". ")[0].splitlines()[0].rstrip(".")
        return {"error": f": {type(raised).__name__}: {first}"[:300]}


def eager(operator: Any, given: "list[Tensor]", grad: "Tensor") -> "list[Tensor]":
    return [operator(*given).detach()]


def faked(operator: Any, given: "list[Tensor]", grad: "Tensor") -> "list[Tensor]":
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        result = operator(*map(mode.from_tensor, given))
    return [torch.zeros(tuple(result.shape), dtype=result.dtype)]


def differentiated(operator: Any, given: "list[Tensor]", grad: "Tensor") -> "list[Tensor]":
    import torch

    leaves = [one.clone().requires_grad_() for one in given]
    return [*torch.autograd.grad(operator(*leaves), leaves, grad)]


def cast(operator: Any, given: "list[Tensor]", grad: "Tensor") -> "list[Tensor]":
    """A zero in the dtype of the result under autocast to bf16."""
    import torch

    with torch.autocast("cpu", torch.bfloat16):
        return [torch.zeros(1, dtype=operator(*(one.float() for one in given)).dtype)]


PARTS = {"eager mode": eager, "tensors without data": faked, "backward()": differentiated, "autocast": cast}


# In the judge's process -----------------------------------------------------------------------------------------------

SHOULD = {
    "eager mode": "its result should be forward's",
    "tensors without data": "with tensors that have no data, it should return what fake does, and not run forward",
    "backward()": "its gradients should be those of the backward that it was given: backward(grad, x, weight, bias)",
    "autocast": "from fp32 under torch.autocast to bf16 it should return bf16",
}
KINDS = {
    "tensors without data": OperatorFlaw.FAKE,
    "backward()": OperatorFlaw.GRADIENTS,
    "autocast": OperatorFlaw.AUTOCAST,
}


def drawn(part: str, rng: Random) -> tuple:
    """Arguments of `registered`."""
    *rows, k, n = (rng.randint(2, 9) for _ in range(rng.randint(3, 4)))
    *given, grad = draw((*rows, k), (n, k), (n,), (*rows, n), seed=rng.getrandbits(32))
    return part, rng.uniform(0.5, 2.0), rng.uniform(2.0, 3.0), given, grad


def wrong_part(record: Record, part: str, factor: float, scale: float, given: "list[Tensor]", grad: "Tensor") -> str:
    import torch

    result = forward_of(factor, *given)
    wanted = {
        "eager mode": [result],
        "tensors without data": [torch.zeros_like(result)],
        "backward()": backward_of(scale, grad, *given[:2]),
        "autocast": [torch.zeros(1, dtype=torch.bfloat16)],
    }
    if not record["error"] and all(map(is_close, record["got"], wanted[part])):
        return ""
    kind = OperatorFlaw.BACKWARD if part == "backward()" and record["error"] else KINDS.get(part)
    return Flaw(f"{SHOULD[part]}{record['error']}.", *([kind] if kind else []))


REGISTERED = tuple(judged_by_record(part, registered, partial(drawn, part), wrong_part) for part in PARTS)
