"""A kernel simulated at one size, without a GPU: its results, its inputs, the findings."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tutorlib.checking.randomness import fresh_generator
from tutorlib.failure import Fail, Fault, Flaw, Hazard
from tutorlib.problems.differences import BY_LUCK, NEARLY, Wrong, WrongResult, by, count, find_difference, input_changed
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import NOT_LAUNCHED, Call, KernelFault, Work
from tutorlib.simulate.tensors import one_thread

if TYPE_CHECKING:
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx import Finding, MemoryAccess, Report

HANGS = {Hazard.BARRIER, Hazard.ENDLESS, Hazard.DEADLOCK}
BREAKS = {Hazard.OUTSIDE, Hazard.MISALIGNED, Hazard.ASSERTION, Hazard.DIVERGENT}  # these end a kernel on any GPU
ADVICE: tuple[tuple[Fault, str], ...] = (  # the remedy of a hazard: of the first that covers it
    (
        Hazard.UNWAITED(lacks="mbarrier", of="TMA"),
        "Wait for the phase of the mbarrier that counts TMA's bytes, before they are used.",
    ),
    (
        Hazard.UNWAITED(lacks="commit", by="tcgen05"),
        "Commit the multiplications to an mbarrier, and wait for its phase before you read the accumulators.",
    ),
    (
        Hazard.UNWAITED(lacks="end", by="tcgen05"),
        "Before the block ends, wait for the phase that the commit completes.",
    ),
    (
        Hazard.UNWAITED(lacks="free", by="tcgen05"),
        "One warp frees the columns that it allocated, after the last use by any warp.",
    ),
    *(
        (hazard, "Commit the stores to a bulk group, and wait until none is left, before the block ends.")
        for hazard in (Hazard.UNWAITED(lacks="stored"), Hazard.UNWAITED(lacks="end", by="TMA"))
    ),
    (
        Hazard.UNWAITED(lacks="wgmma"),
        "Commit the wgmmas to a group and wait for it before any thread uses their accumulators.",
    ),
    (
        Hazard.UNWAITED(),
        "Commit the copies to a group, wait for it, and let a barrier follow before other threads read.",
    ),
    (
        Hazard.RACE(lacks="wgmma.fence"),
        "warpgroup.fence() comes before wgmma, and again when others used its registers.",
    ),
    (
        Hazard.RACE(earlier="write", by="TMA"),
        "Before a TMA store is issued, all threads that wrote the box must have met: sync_warp(), or a barrier.",
    ),
    (
        Hazard.RACE(by="TMA"),
        "Wait on the mbarrier on which its readers arrive before you fill it again.",
    ),
    (
        Hazard.RACE(earlier="init"),
        "Every thread that uses an mbarrier must know that it is initialized: a barrier after mbarrier_init.",
    ),
    (Hazard.RACE(), "The two accesses need a barrier of the whole block between them."),
    (Hazard.UNWRITTEN(by="wgmma"), "The first wgmma of a tile must not add: ACCUMULATE is False there."),
    (Hazard.UNWRITTEN(), "Which thread should write it, and when?"),
    (Hazard.UNSET(), "Set it before it is used: accumulators begin with fill(0.0)."),
    (
        Hazard.OUTSIDE(tensor="shared memory"),
        "Does the layout reach further than the memory that was allocated for it?",
    ),
    (
        Hazard.OUTSIDE(tensor="coordinates"),
        "A mode of size 1 that the compiler knows is left out of a descriptor.",
    ),
    (
        Hazard.OUTSIDE(tensor="lanes"),
        "Cut the source with partition_S of the thread's own slice: get_slice(thread), where thread is 0 to 127.",
    ),
    (
        Hazard.OUTSIDE(tensor="tensor memory"),
        "Compare the columns that are allocated, used and freed, and when.",
    ),
    (Hazard.OUTSIDE(tensor="barriers"), "Barrier 0 is that of sync_threads; 1 to 15 are left."),
    (Hazard.OUTSIDE(), "Compare each index with the tensor's size before the access."),
    (
        Hazard.MISALIGNED(does="copies to"),
        "A vector's address must be a multiple of its size. Is it this thread's part (partition_S, partition_D) that "
        "is copied, and not the whole tile?",
    ),
    (Hazard.MISALIGNED(), "A vector's address must be a multiple of its size."),
    (
        Hazard.OVERLAP(lacks="fence"),
        "Two fences order two blocks: store, fence, write the flag; and in the other block read the flag, fence, load.",
    ),
    (Hazard.OVERLAP(), "Each block needs a part of the output of its own."),
    (
        Hazard.PROXY(),
        "Threads and TMA access shared memory through different proxies: fence_proxy, a barrier, then TMA or wgmma.",
    ),
    (Hazard.DIVERGENT(lanes="unnamed"), "The mask needs a bit for each lane that executes the instruction."),
    (Hazard.DIVERGENT(), "All threads of a warp must execute it: move it out of the branch."),
)
UNITS = {"shared": "wavefront", "global": "sector"}


@one_thread()
def find_simulated_fault(
    problem: Problem,
    launcher: "SimulatedLauncher",
    shape: Shape,
    patterned: bool = True,
    mistakes: Sequence[WrongResult] = (),
) -> Wrong | None:
    """Two calls, identity and ramp, then random inputs. None if both are right, without findings.

    Where the first is nearly right, the second has the word: a ramp's large numbers make much look like lost digits.
    patterned: False leaves out the first. mistakes: wrong results that are named where the random inputs show them.
    Raises CompileFailed, NotSimulated and, where it hangs, KernelFault.
    """

    generator = fresh_generator()
    work = Work(problem, shape, "cpu")
    call = launcher.on(work)
    nearly: Wrong | None = None
    for fresh in (None, generator) if patterned else (generator,):
        if fresh is not None:
            work.refill(fresh)
        work.output.poison()
        wrong = find_fault_of_simulated_call(launcher, call, work, mistakes if fresh else ())
        if wrong and (fresh or wrong.mistake != NEARLY):
            return wrong
        nearly = nearly or wrong
    return nearly


def find_fault_of_simulated_call(
    launcher: "SimulatedLauncher", call: Call, work: Work, mistakes: Sequence[WrongResult] = ()
) -> Wrong | None:
    """One call: what the simulator noticed, the inputs, the result."""
    from tutorlib.simulate.ptx import CannotLaunch

    kept = [x.clone() for x in work.inputs]
    try:
        call_counted(call)
    except CannotLaunch as error:
        return Wrong(NOT_LAUNCHED + error.args[0] + ".")
    noticed = [finding for report in launcher.reports for finding in report.findings]
    if hangs := [finding for finding in noticed if finding.kind in HANGS]:
        endless = next((finding for finding in hangs if finding.kind == "deadlock"), hangs[0])  # nearer to the cause
        cause = next((finding for finding in noticed if finding.kind in ("unwaited", "race")), noticed[0])
        earlier = "" if endless is cause else " Before that: " + cause.sentence
        raise KernelFault("it would hang on a GPU: " + endless.sentence + earlier, "timeout")
    if broken := next((finding for finding in noticed if finding.kind in BREAKS), None):
        return Wrong(broken.sentence, advice(broken))
    for op, old, new in zip(work.problem.inputs, kept, work.inputs, strict=True):
        if not op.scratch and not old.equal(new):
            return input_changed(op.name)
    seen, (expected, allowed) = work.output.as_it_is().seen, work.expected()
    wrong = find_difference(work.problem.output.name, *seen, expected, allowed)
    if wrong and noticed:
        return Wrong(wrong.what, "Noticed while it was simulated: " + noticed[0].sentence)
    if noticed:
        return Wrong(BY_LUCK + noticed[0].sentence, advice(noticed[0]))
    if wrong:
        shown = (one.says for one in mistakes if one.explains(work.problem, work.inputs, seen, allowed))
        return Wrong(wrong.what, next(shown, wrong.mistake))
    return None


def call_counted(call: Call) -> None:
    """Call a kernel, so that the reports have what limits are about (`KernelWork`)."""
    from tutorlib.measuring.kernel_work import KernelWork
    from tutorlib.simulate.ptx.memory import listening

    with listening(KernelWork):
        call()


def each_launch(
    problem: Problem, launcher: "SimulatedLauncher", shapes: Sequence[Shape]
) -> "Iterator[tuple[Shape, Sequence[Report]]]":
    """The reports at each size, right or wrong. Raises CompileFailed, NotSimulated and CannotLaunch."""
    import torch

    for shape in shapes:
        work = Work(problem, shape, "cpu")
        work.refill(torch.Generator())
        call_counted(launcher.on(work))
        yield shape, launcher.reports


def first_finding(reports: "Sequence[Report]") -> "Finding | None":
    return next((finding for report in reports for finding in report.findings), None)


def luck(finding: "Finding") -> Wrong:
    """The fault of a kernel that passed on a GPU by luck."""
    if finding.kind in HANGS:
        return Wrong("it came to an end on this GPU, by luck: " + finding.sentence, advice(finding))
    return Wrong("this GPU's result is right by luck: " + finding.sentence, advice(finding))


def cause(problem: Problem, launcher: "SimulatedLauncher", shapes: Sequence[Shape]) -> str:
    """The simulator's explanation of a kernel that is wrong on a GPU, as a sentence or two, or "".

    Raises as `each_launch`.
    """
    for shape, reports in each_launch(problem, launcher, shapes):
        if not (finding := first_finding(reports)):
            continue
        return f"Simulated at {by(shape)}: " + finding.sentence + (f" {mends}" if (mends := advice(finding)) else "")
    return ""


def advice(finding: "Finding") -> str:
    """A remedy for the finding, or ""."""
    found = finding.sentence.failures
    return next((mends for hazard, mends in ADVICE if any(map(hazard.covers, found))), "")


def find_waste(reports: "Sequence[Report]", opcodes: tuple[str, ...], slack: int = 1) -> str | None:
    """A sentence about the access of these opcodes that wastes most, or None.

    opcodes: their prefixes. slack: the factor by which an access may exceed its need.
    """
    accesses = (access for report in reports for access in report.accesses)
    wasteful = [
        access for access in accesses if access.opcode.startswith(opcodes) and access.taken > slack * access.needed
    ]
    return describe_waste(max(wasteful, key=lambda access: access.wasted)) if wasteful else None


def find_repeat(reports: "Sequence[Report]") -> str | None:
    """A sentence about an element that two blocks store alike, or None."""
    return next((finding.sentence for report in reports for finding in report.repeats), None)


def find_zeros(reports: "Sequence[Report]") -> str | None:
    """A sentence about a TMA load that brings only zeros, or None."""
    return next((finding.sentence for report in reports for finding in report.zeros), None)


def describe_waste(access: "MemoryAccess") -> str:
    """The mean cost of a warp's access, at its line."""
    taken, needed = access.taken / access.warps, access.needed / access.warps
    at = f"{access.place}" if access.place else f"line {access.ptx_line} of the PTX"
    unit = UNITS[access.space]
    why = "threads meet in a bank" if access.space == "shared" else "sectors are used in part"
    what = f"{at}: a warp's {access.opcode} takes {count(round(taken, 1), unit)} where {needed:.3g} would do: {why}."
    return Flaw(what, Fail.WASTE(space=access.space))
