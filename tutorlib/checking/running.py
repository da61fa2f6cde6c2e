"""A kernel tried at one size: on a GPU, simulated, or interpreted. Its results, its inputs, and what was noticed."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.checking.cutile_evidence import Calls, Interpreted
from tutorlib.checking.randomness import fresh_generator
from tutorlib.failure import Hazard, remedies, remedy
from tutorlib.machine import device
from tutorlib.problems.differences import BY_LUCK, NEARLY, Wrong, find_difference, input_changed
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import NOT_LAUNCHED, Call, KernelFault, Launcher, Output, Work, call_in_order
from tutorlib.simulate.tensors import one_thread

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher

Pair = tuple["Tensor", "Tensor"]  # an output's values, and where there are none; or the right ones, and their bounds
HANGS = {Hazard.BARRIER, Hazard.ENDLESS, Hazard.DEADLOCK}
BREAKS = {Hazard.OUTSIDE, Hazard.MISALIGNED, Hazard.ASSERTION, Hazard.DIVERGENT}  # these end a kernel on any GPU
ADVICE = remedies(tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8")))  # of hazards


def first_fault(faults: Iterable[Wrong | None]) -> Wrong | None:
    """The first of the faults of some calls, the first of them on identity and ramp.

    One by which digits are lost counts only if there is no other: a ramp's large numbers make other errors look so.
    """
    nearly: Wrong | None = None
    for wrong in faults:
        if wrong and wrong.mistake != NEARLY:
            return wrong
        nearly = nearly or wrong
    return nearly


def fault_of_result(
    problem: Problem, changed: Sequence[int], seen: Pair, expected: Pair, noticed: str = "", mends: str = ""
) -> Wrong | None:
    """What is wrong with a call. changed: the inputs that differ afterwards, by number.

    noticed: by the simulator or the interpreter, as a sentence. mends: its remedy.
    """
    if changed:
        return input_changed(problem.inputs[changed[0]].name)
    wrong = find_difference(problem.output.name, *seen, *expected)
    if wrong and noticed:
        return Wrong(wrong.what, "Noticed while it ran: " + noticed)
    return Wrong(BY_LUCK + noticed, mends) if noticed else wrong


# On a GPU ------------------------------------------------------------------------------------------------------------


def find_fault(problem: Problem, launcher: Launcher, shape: Shape) -> Wrong | None:
    """Three calls into one output: identity and ramp, then random inputs twice. None if all are right.

    Raises CompileFailed and KernelFault.
    """
    with device.shared_turn():
        work = Work(problem, shape)
    call = launcher.on(work)  # compiling needs no turn on the GPU
    earlier: list[Pair] = []  # the right results of the calls so far

    def fault(fresh: "Generator | None") -> Wrong | None:
        if fresh is not None:
            work.refill(fresh)
        kept = [x.clone() for x in work.inputs]
        left = call_in_order(call, work.output)
        if outside := left.overrun():
            return Wrong(f"the kernel wrote outside {problem.output.name}: {outside}.")
        result, allowed = work.expected()
        wrong = fault_of_result(problem, changed_inputs(work, kept), left.seen, (result, allowed))
        if wrong and earlier and not find_difference("", *left.seen, *earlier[-1]):
            return replace(wrong, mistake="It is the right result for the inputs of the call before.")
        earlier.append((result.clone(), allowed.clone()))  # a copy's result is its input, soon refilled
        return wrong

    with device.shared_turn():
        generator = fresh_generator(str(work.output.tensor.device))
        return first_fault(map(fault, (None, generator, generator)))


def changed_inputs(work: Work, kept: "Sequence[Tensor]") -> list[int]:
    """The numbers of those that are no longer as they were kept, scratch memory left out."""
    each = enumerate(zip(work.problem.inputs, kept, work.inputs, strict=True))
    return [n for n, (operand, before, after) in each if not (operand.scratch or before.equal(after))]


# Simulated -----------------------------------------------------------------------------------------------------------


@one_thread()
def find_simulated_fault(
    problem: Problem, launcher: "SimulatedLauncher", shape: Shape, patterned: bool = True
) -> Wrong | None:
    """Two calls, identity and ramp, then random inputs. None if both are right, without findings.

    patterned: False leaves out the first. Raises CompileFailed, NotSimulated and, where it hangs, KernelFault.
    """
    work = Work(problem, shape, "cpu")
    call = launcher.on(work)

    def fault(fresh: "Generator | None") -> Wrong | None:
        if fresh is not None:
            work.refill(fresh)
        work.output.poison()
        return find_fault_of_simulated_call(launcher, call, work)

    return first_fault(map(fault, (None, fresh_generator())[not patterned :]))


def find_fault_of_simulated_call(launcher: "SimulatedLauncher", call: Call, work: Work) -> Wrong | None:
    """One call: what the simulator noticed, the inputs, the result."""
    from tutorlib.measuring.kernel_work import KernelWork
    from tutorlib.simulate.ptx import CannotLaunch
    from tutorlib.simulate.ptx.memory import listening

    kept = [x.clone() for x in work.inputs]
    try:
        with listening(KernelWork):  # so that the reports have what rules are about
            call()
    except CannotLaunch as error:
        return Wrong(NOT_LAUNCHED + error.args[0] + ".")
    noticed = [finding for report in launcher.reports for finding in report.findings]
    if hangs := [finding for finding in noticed if finding.kind in HANGS]:
        endless = next((one for one in hangs if one.kind == Hazard.DEADLOCK), hangs[0])  # nearer to the cause
        cause = next((one for one in noticed if one.kind in (Hazard.UNWAITED, Hazard.RACE)), noticed[0])
        earlier = "" if endless is cause else " Before that: " + cause.sentence
        raise KernelFault("it would hang on a GPU: " + endless.sentence + earlier, "timeout")
    if broken := next((finding for finding in noticed if finding.kind in BREAKS), None):
        return Wrong(broken.sentence, remedy(ADVICE, broken.sentence))
    seen, expected = work.output.seen, work.expected()
    told = (noticed[0].sentence, remedy(ADVICE, noticed[0].sentence)) if noticed else ("", "")
    return fault_of_result(work.problem, changed_inputs(work, kept), seen, expected, *told)


# Interpreted ---------------------------------------------------------------------------------------------------------


def calls_of(problem: Problem, shape: Shape) -> Calls:
    """The tensors of the calls that are interpreted: identity and ramp, then random inputs; a poisoned output each."""
    drawn = (problem.pattern(shape, "cpu"), problem.random(shape, fresh_generator()))
    return tuple((*inputs, poisoned(problem, shape).tensor) for inputs in drawn)


def poisoned(problem: Problem, shape: Shape) -> Output:
    return Output(problem.output, problem.shape_of(problem.output, shape), "cpu")


ON_DEFAULT_STREAM = Wrong(
    BY_LUCK + "it launches on the default stream, where it does not wait for torch's kernels.",
    "They run in order in torch.cuda.current_stream(), which may be another.",
)


@one_thread()
def find_interpreted_fault(
    problem: Problem, shape: Shape, calls: Calls, interpreted: Sequence[Interpreted]
) -> Wrong | None:
    """The first fault of calls that were interpreted."""

    def fault(tensors: "tuple[Tensor, ...]", found: Interpreted) -> Wrong | None:
        if found.raised:
            return Wrong(found.raised)
        output = poisoned(problem, shape)
        if found.output is not None:
            output.tensor.copy_(found.output)
        seen, expected = output.seen, problem.expected(tensors[:-1], shape)
        noticed = next((finding.sentence for report in found.reports for finding in report.findings), "")
        wrong = fault_of_result(problem, found.changed, seen, expected, noticed)
        in_order = all(report.current for report in found.reports)
        return wrong or (None if in_order else ON_DEFAULT_STREAM)

    return first_fault(fault(*pair) for pair in zip(calls, interpreted, strict=True))
