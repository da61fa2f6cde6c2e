"""A kernel run at one size: its results, its inputs, its output's guard bands."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tutorlib.checking.randomness import fresh_generator
from tutorlib.machine import device
from tutorlib.problems.differences import NEARLY, Wrong, find_difference, input_changed
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Launcher, Work, call_in_order

if TYPE_CHECKING:
    from torch import Tensor


def find_fault(problem: Problem, launcher: Launcher, shape: Shape) -> Wrong | None:
    """Three calls into one output: identity and ramp, then random inputs twice. None if all are right.

    If the first is nearly right, the others decide: a ramp's large numbers make other errors look like lost digits.
    Raises CompileFailed and KernelFault.
    """
    with device.shared_turn():
        work = Work(problem, shape)
    call = launcher.on(work)  # compiling needs no turn on the GPU
    with device.shared_turn():
        return find_fault_of_calls(call, work)


def find_fault_of_calls(call: Call, work: Work) -> Wrong | None:
    """As `find_fault`, of a call that is ready."""
    earlier: tuple[Tensor, Tensor] | None = None
    nearly: Wrong | None = None
    generator = fresh_generator(str(work.output.tensor.device))
    for fresh in (None, generator, generator):
        if fresh is not None:
            work.refill(fresh)
        wrong = find_fault_of_call(call, work, earlier)
        if wrong and (fresh or wrong.mistake != NEARLY):
            return wrong
        nearly = nearly or wrong
        result, allowed = work.expected()
        earlier = result.clone(), allowed.clone()  # a copy's result is its input, soon refilled
    return nearly


def find_fault_of_call(call: Call, work: Work, earlier: "tuple[Tensor, Tensor] | None") -> Wrong | None:
    """A fault of one call: a wrong output, or a write elsewhere. earlier: the right result of the last call."""
    kept = [x.clone() for x in work.inputs]
    left = call_in_order(call, work.output)
    name = work.problem.output.name
    if outside := left.overrun():
        return Wrong(f"the kernel wrote outside {name}: {outside}.")
    for op, before, after in zip(work.problem.inputs, kept, work.inputs, strict=True):
        if not op.scratch and not before.equal(after):
            return input_changed(op.name)
    wrong = find_difference(name, *left.seen, *work.expected())
    if wrong and earlier and not find_difference(name, *left.seen, *earlier):
        return replace(wrong, mistake="It is the right result for the inputs of the call before.")
    return wrong
