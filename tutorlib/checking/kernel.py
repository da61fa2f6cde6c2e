"""The base of exercises whose answer is a GPU kernel, in any language."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Served
from tutorlib.checking.evidence import Request, evidence_of
from tutorlib.checking.exercise import Exercise, Verdict, not_run, wrong
from tutorlib.checking.facts import FAR, Check, Fact, Rule, far_too_many, first_broken
from tutorlib.checking.library_use import Library, as_told
from tutorlib.checking.randomness import for_points
from tutorlib.checking.running import find_fault, find_simulated_fault
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Fail, Flaw, failures_in
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, TCGEN05, TMA, WGMMA, Feature
from tutorlib.measuring import results
from tutorlib.measuring.results import recorded
from tutorlib.measuring.timing import Measurement, WrongWhenTimed, impossible
from tutorlib.measuring.trusted import measure
from tutorlib.problems.differences import Wrong, by, count
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import RESTART, KernelFault, Launcher, context_broken, fault

if TYPE_CHECKING:
    import numpy as np

    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx import Report

SIMULATED = (MMA_SYNC, TMA, WGMMA, TCGEN05)


@dataclass(frozen=True, kw_only=True)
class KernelExercise(Exercise):
    """An exercise whose answer becomes a kernel. A tier is one point; right results share the others among all sizes.

    problem: its function; the tensors come in the order problem.operands.
    shapes: sizes by problem.dims: (M, N) for a copy, (M, N, K) for a GEMM. One has all sizes equal, so that a
        message can tell a kernel that mixes them up; the others differ in every size.
    bench_shape: the size that is timed, or None if speed is not graded.
    tiers: for one point each, the fraction of the calibrated ratio that must be reached: (0.7, 0.9).
    requires, forbids: names of INSTRUCTIONS ("cp.async") that the compiled kernel must or must not have.
    simulated_shapes: the sizes that the simulator runs without a GPU; (): all of `shapes`. Fewer where each takes long
        to compile.
    counted: the simulated size at which work is counted; (): the first.
    rules: on what is counted at that size: `issued("bar.sync") <= 48`, `lean("st.global")`. A right kernel that breaks
        one has a point less. On a GPU only the time shows most of that.
    shared_rules: those that come before these, of all exercises of a kind.
    rules_at: the same at others of the simulated sizes.
    patterned: whether the simulator gets identity and ramp, too.
    order: takes the counted size and, for each element of the output, the number of the block that stored it; returns
        why the blocks are in the wrong order, as a sentence, or None.
    library: functions that do what is asked; an answer that names one is refused.
    """

    needs: Feature = MMA_SYNC
    problem: Problem
    shapes: tuple[Shape, ...]
    bench_shape: Shape | None = None
    tiers: tuple[float, ...] = ()
    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    simulated_shapes: tuple[Shape, ...] = ()
    counted: Shape = ()
    rules: tuple[Check, ...] = ()
    shared_rules: tuple[Check, ...] = ()
    rules_at: Mapping[Shape, tuple[Check, ...]] = field(default_factory=dict)
    patterned: bool = True
    order: "Callable[[Shape, np.ndarray], str | None]" = lambda shape, storers: None
    library: Library = field(default_factory=dict)

    @property
    def correctness_points(self) -> int:
        return self.points - len(self.tiers)

    @property
    def sizes(self) -> tuple[Shape, ...]:
        """Every size at which the answer must be right, the timed one last."""
        return (*self.shapes, *self.shapes_timed)

    @property
    def shapes_timed(self) -> tuple[Shape, ...]:
        return (self.bench_shape,) if self.bench_shape else ()

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return self.simulated_shapes or self.shapes

    @property
    def size_counted(self) -> Shape:
        return self.counted or self.sizes_simulated[0]

    @property
    def budget(self) -> float:
        """Instructions, of all warps, after which a CuTe kernel's simulation at the counted size may stop.

        A loop that is far too long would take minutes.
        """
        bounds = (rule.bound for rule in self.rules if isinstance(rule, Rule) and rule.fact.far)
        return min((FAR * most for most in bounds if not isinstance(most, Fact)), default=inf)

    @property
    def simulated(self) -> bool:
        """Whether the simulator has the instructions that the exercise is about."""
        return self.needs in SIMULATED

    @property
    def points_anywhere(self) -> float:
        return (self.right("simulated", "") if self.simulated else self.unrun("")).points

    # A language's own -------------------------------------------------------------------------------------------------

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> Request:
        """What the judge wants to know of an answer that is simulated and run at these sizes."""
        raise NotImplementedError(f"{self.id} has evidence of its own")

    def seen(self, request: Any, found: Any) -> Any:
        """The evidence that came for a request, as `look`, `wrong_code`, `simulator` and `launcher` take it."""
        return found

    def look(self, evidence: Any) -> Verdict | None:
        """Findings in the answer before its kernel runs, or None. Raises CompileFailed and WrongKind."""

    def wrong_code(self, evidence: Any) -> str | None:
        """A fault of the compiled kernel that any machine finds before it runs, as a sentence, or None.

        Raises CompileFailed.
        """

    @abstractmethod
    def launcher(self, evidence: Any) -> Launcher:
        """The kernel, for the GPU at hand. Raises CompileFailed."""

    def simulator(self, evidence: Any) -> "SimulatedLauncher":
        """The kernel, for the simulator; asked only of exercises that are `simulated`."""
        raise TypeError(f"{self.id} is not simulated")

    def unrun(self, why: str) -> Verdict:
        """The verdict on a kernel without a `wrong_code`, where it can neither run nor be simulated."""
        return not_run(f"compiled; not run: {why}")

    # The judgment -----------------------------------------------------------------------------------------------------

    def for_request(self, run: tuple[Shape, ...]) -> dict[str, Any]:
        """The fields that every request has: the GPU at hand is one if something is to run on it."""
        gpu = device.need_gpu() if run else None
        return {"library": as_told(self.library), **({"arch": gpu.arch, "sms": gpu.sms} if gpu else {})}

    def evidence(
        self, served: Served, simulated: tuple[Shape, ...] | None = None, run: tuple[Shape, ...] | None = None
    ) -> Any:
        """The evidence of an answer; without sizes, that which `judge` needs. Raises WrongKind and CompileFailed."""
        here = not device.why_not(self.needs)
        request = self.request(
            (self.sizes_simulated if self.simulated else ()) if simulated is None else simulated,
            (self.sizes if here else ()) if run is None else run,
        )
        return self.seen(request, served.ask(evidence_of, request))

    def judge(self, served: Served) -> Verdict:
        """What `look` finds can only lower the points, and then it gives the message."""
        evidence = self.evidence(served)
        found = self.look(evidence)
        if found and not found.points > 0:  # nor is NaN
            return found
        if lacks := self.wrong_code(evidence):
            verdict = wrong(lacks)
        else:
            why = device.why_not(self.needs)
            verdict = self.simulate(evidence, why) if why else self.run(evidence)
        return found if found and found.points <= verdict.points else verdict

    def simulate(self, evidence: Any, why: str) -> Verdict:
        """The verdict on a machine that lacks the GPU. why: the reason. Raises CompileFailed.

        In a run for points an instruction that the simulator lacks earns nothing: otherwise an answer could take its
        exercise out of the total.
        """
        from tutorlib.simulate.ptx import NotSimulated

        if not self.simulated:
            return self.unrun(why)
        try:
            return self.simulate_all(evidence, why)
        except NotSimulated as error:
            return wrong(f"it cannot be graded here: {error}.") if for_points() else self.unrun(str(error))

    def simulate_all(self, evidence: Any, why: str) -> Verdict:
        """Raises CompileFailed and NotSimulated."""
        launcher, shapes = self.simulator(evidence), self.sizes_simulated
        wrongs: dict[Shape, Wrong] = {}
        waste = ""
        for shape in shapes:
            if found := find_simulated_fault(self.problem, launcher, shape, self.patterned):
                wrongs[shape] = found
            wasted = self.wasted(shape, launcher.reports, bool(found))
            if far_too_many(wasted):  # the larger sizes would take minutes
                return wrong(wasted, "Which part of it is this thread's?")
            waste = waste or wasted
        if wrongs:
            return self.wrong_at(wrongs, shapes)
        return self.more_than_it_must(waste) if waste else self.right("simulated", why)

    def run(self, evidence: Any) -> Verdict:
        """Every size, then the time. A crash or a hang ends it. Raises CompileFailed and KernelFault.

        The simulator explains wrong results, and finds hazards in kernels that are right by luck.
        """
        if context_broken():
            raise KernelFault(RESTART)
        try:
            launcher = self.launcher(evidence)
            wrongs = {shape: found for shape in self.sizes if (found := find_fault(self.problem, launcher, shape))}
            simulated = self.beside_gpu(evidence)
            if wrongs:
                return self.wrong_at(wrongs, self.sizes, explanation(simulated))
            if simulated and simulated.points < self.correctness_points:
                return simulated
            return self.time(launcher) if self.shapes_timed else Verdict(self.points)
        except NotImplementedError:
            raise
        except KernelFault as error:
            why = explanation(self.beside_gpu(evidence))
            raise KernelFault(error.args[0] + (f"\n  {why}" if why else ""), error.status) from error
        except RuntimeError as error:  # torch's: no memory, or a late CUDA error
            raise fault(error) from error

    def beside_gpu(self, evidence: Any) -> Verdict | None:
        """The simulator's verdict on a kernel that a GPU has run; None where it cannot run it."""
        from tutorlib.simulate.ptx import NotSimulated

        try:
            return self.simulate_all(evidence, "") if self.simulated else None
        except KernelFault as hangs:
            return wrong("this GPU came to an end by luck.", *hangs.args)
        except (CompileFailed, NotSimulated):  # for sm_80; the GPU has shown that it can
            return None

    # Rules of the lesson ----------------------------------------------------------------------------------------------

    def lacking(self, found: frozenset[str]) -> str | None:
        """A required instruction that is missing, or a forbidden one that is there, as a sentence, or None."""
        if missing := [name for name in self.requires if name not in found]:
            what = f"it compiles, but without {' and '.join(missing)}, which the exercise is about."
            return Flaw(what, *(Fail.LACKS(instruction=name) for name in missing))
        if extra := [name for name in self.forbids if name in found]:
            what = f"it compiles, but still uses {' and '.join(extra)}."
            return Flaw(what, *(Fail.USES(instruction=name) for name in extra))
        return None

    def wasted(self, shape: Shape, reports: "Sequence[Report]", failed: bool) -> str:
        """Needless work at a simulated size, as a sentence, or "". failed: then only what is counted matters."""
        counted, output = shape == self.size_counted, self.problem.output
        rules = (*self.shared_rules, *self.rules) if counted else self.rules_at.get(shape, ())
        waste = first_broken([rule for rule in rules if isinstance(rule, Rule) or not failed], reports)
        storers = [report.storers[output.name] for report in reports if output.name in report.storers]
        if counted and storers and not (waste or failed):
            waste = self.order(shape, storers[-1].reshape(self.problem.shape_of(output, shape))) or ""
        return Flaw(f"at {by(shape)}, ") + waste if waste else ""

    def more_than_it_must(self, waste: str) -> Verdict:
        """The verdict on a right kernel that does needless work."""
        points = max(self.correctness_points - 1, self.correctness_points / 2)
        lacks = any(kind().covers(found) for kind in (Fail.TOO_FEW, Fail.NO_OVERLAP) for found in failures_in([waste]))
        but = "right, but without what the exercise is about: " if lacks else "right, but it does more than it must: "
        return Verdict(points, (but + waste,), "partial")  # an f-string would lose the Flaw's kinds

    def right(self, how: str, why: str) -> Verdict:
        """The verdict on a kernel that is right wherever it was tried without a GPU. how: "simulated"."""
        if not self.tiers:
            return Verdict(self.points)
        return not_run(f"right, {how}; speed not run: {why}", self.correctness_points)

    # Sizes ------------------------------------------------------------------------------------------------------------

    def wrong_at(self, wrongs: dict[Shape, Wrong], sizes: tuple[Shape, ...], cause: str = "") -> Verdict:
        """The verdict if some sizes are wrong; the message is about the first of them.

        cause: the simulator's explanation.
        """
        right = len(sizes) - len(wrongs)
        shape, found = next(iter(wrongs.items()))
        mistake = found.mistake or suspicion([at for at in sizes if at not in wrongs])
        what = Flaw(f"{by(shape)}: ", Fail.SIZE(shape=by(shape))) + found.what
        lines = (f"{right} of {count(len(sizes), 'size')} right", what, mistake, cause)
        return Verdict(self.correctness_points * right / len(sizes), tuple(filter(None, lines)))

    # Speed ------------------------------------------------------------------------------------------------------------

    def time(self, launcher: Launcher) -> Verdict:
        """The verdict on a right kernel by its speed, at the shape at which it is slowest beside the baseline.

        Full points where the GPU has no target.
        """
        known = [found for shape in self.shapes_timed if (found := recorded(self.id, shape))]
        try:
            measured = known or [measure(self.problem, launcher, shape) for shape in self.shapes_timed]
        except WrongWhenTimed as error:
            return wrong(f"right when checked, wrong while it was timed: {error}")
        slowest, gpu = min(measured, key=lambda one: one.ratio), device.need_gpu()
        target = results.target_ratio(f"sm_{gpu.arch}", self.id)
        verdict = self.verdict(slowest, target, gpu)
        if verdict.points == self.points:
            note = f". Not graded: there is no target for sm_{gpu.arch}" if self.tiers and target is None else ""
            verdict = replace(verdict, lines=(f"{slowest}{note}",))
        return replace(verdict, measurement=slowest)

    def verdict(self, measured: Measurement, target: float | None, gpu: device.GPU) -> Verdict:
        """target: the calibrated ratio that tiers are fractions of, None where there is none."""
        if reason := impossible(measured, self.problem, gpu.hardware):
            return wrong(reason)
        missed = [tier * target for tier in self.tiers if measured.ratio < tier * target] if target else []
        if not missed:
            return Verdict(self.points)
        if measured.noisy:
            what = f"right; too noisy to grade its speed, run it again: {measured.noisy}."
            return Verdict(self.correctness_points, (what,))
        points = self.points - len(missed)
        lines = (
            f"{points} of {count(self.points, 'point')}",
            f"Right, at {measured.ratio:.3f} of {measured.baseline}'s speed; the next point needs {min(missed):.3f}.",
        )
        return Verdict(points, lines)


def suspicion(rights: Sequence[Shape]) -> str:
    """A mistake suggested by the sizes at which a kernel is right, or ""."""
    if len(rights) != 1 or not len(set(rights[0])) == 1 < len(rights[0]):
        return ""
    return f"It is right at {by(rights[0])}, where all sizes agree: is one size used in another's place?"


def explanation(simulated: Verdict | None) -> str:
    """What the simulator says of a kernel that is wrong on a GPU, in a line, or ""."""
    return " ".join(("Simulated:", *simulated.lines[1:])) if simulated and simulated.lines[1:] else ""
