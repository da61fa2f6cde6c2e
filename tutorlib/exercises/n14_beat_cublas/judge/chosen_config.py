"""Exercises whose answer chooses the Hopper GEMM's configuration: one for all shapes, or one for each."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.served import Served
from tutorlib.checking.values import attempt, shorten
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Fail, Flaw
from tutorlib.machine.features import WGMMA, Feature, cute_target
from tutorlib.measuring.launchers import HopperLauncher
from tutorlib.measuring.results import known_sweeps
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work
from tutorlib.problems.wrong import by

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher

Choose = Callable[[int, int, int], "HopperConfig"]  # M, N, K → what the GEMM is compiled for
CAPABILITY = "90"
STEP = 8  # bf16 of 16 bytes, of which TMA's rows are multiples
FAR_OFF = 2.2  # times the best by the model: beyond, a choice is wrong whatever the errors of the model
FAR_OFF_TIMED = 1.8  # at shapes that are timed: sides exchanged cost 1.84 there, two rules in place of a model 1.79

FAST = 0.975  # of the fastest row: between a cluster alone, 0.970, and zigzag with it, 0.980
NO_GAIN = ("defer_stores", "raster", "snake", "polls")  # within the spread at every size (h200_hopper_levers.json)


@dataclass
class AnswerLauncher:
    """kernels.hopper's GEMM in the configuration that `choose` gives for the shape at hand.

    kept: by shape. An answer is asked once, so the configuration that was judged is the one that is launched.
    """

    choose: Choose
    kept: "dict[Shape, HopperConfig]" = field(default_factory=dict)
    _launchers: "dict[HopperConfig, HopperLauncher]" = field(default_factory=dict)

    def chosen(self, m: int, n: int, k: int) -> "HopperConfig":
        if (m, n, k) not in self.kept:
            self.kept[m, n, k] = self.choose(m, n, k)
        return self.kept[m, n, k]

    def on(self, work: Work) -> Call:
        config = self.chosen(*work.shape)
        return self._launchers.setdefault(config, HopperLauncher(config)).on(work)


@dataclass(frozen=True, kw_only=True)
class ChosenExercise(KernelExercise):
    """An exercise whose answer returns a HopperConfig, of kernels.hopper, for bf16.

    by_shape: the answer takes (m, n, k); otherwise it takes nothing, and its configuration is for every shape.
    timed: the shapes that are timed; the slowest of them, beside cuBLAS, counts.
    drawn: of (M, N, K) the least and the most, for shapes drawn at random, of which no answer can have a list.
    close: without a GPU a choice loses a point if the model expects more than this times the best for a timed shape,
        or for one of those `told`.
    levers: a sweep. Without a GPU a choice loses a point if the sweep has one like it that was slow at a timed shape.
    patterned: the kernel is the course's, so no answer can transpose its result: random inputs suffice.
    """

    needs: Feature = WGMMA
    by_shape: bool = False
    timed: tuple[Shape, ...] = ()
    drawn: tuple[tuple[Shape, Shape], ...] = ()
    told: tuple[Shape, ...] = ()
    close: float = inf
    levers: str = ""
    patterned: bool = False

    @property
    def shapes_timed(self) -> tuple[Shape, ...]:
        return self.timed

    def judge(self, served: Served) -> Verdict:
        return self.judge_returned(served)

    def accept(self, answer: Answer) -> AnswerLauncher:
        if self.by_shape:
            return AnswerLauncher(answer)
        config, fault = attempt(answer, ())
        if fault:
            raise WrongKind(fault.what)
        return AnswerLauncher(lambda m, n, k: config)

    def artifact(self, served: Served) -> AnswerLauncher:
        return self.accept(served)

    def examine(self, artifact: AnswerLauncher) -> Verdict | None:
        """Every shape has a configuration: where it is timed or drawn, one that is not far off by the model.

        Of the timed ones, that with the fewest registers to spare is compiled, and may not spill.
        """
        others = shapes_between(self.drawn)
        for shape in (*self.sizes, *self.told, *others):
            config, fault = attempt(artifact.choose, shape)
            if fault:
                return wrong(fault.what)
            if not_one := why_not_one(config):
                return wrong(f"for {by(shape)} it returns {shorten(config)}: " + not_one + ".")
            artifact.kept[shape] = config
            limit = FAR_OFF_TIMED if shape in self.timed else FAR_OFF
            if shape in (*self.timed, *others) and (what := far_off(shape, config, limit)):
                return wrong(what)
        tightest = min(self.timed, key=lambda shape: artifact.kept[shape].spare_registers)
        compiled = compile_chosen(config := artifact.kept[tightest])
        if compiled.spill_bytes:
            return wrong(f"for {by(tightest)}: {shown(config)} spills {compiled.spill_bytes} bytes in each thread.")
        return None

    def compile_for(self, artifact: AnswerLauncher, arch: str) -> Compiled:
        return compile_chosen(artifact.chosen(*self.sizes[-1]))

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run((cute_target(CAPABILITY),), why)

    def simulator(self, artifact: AnswerLauncher) -> "SimulatedLauncher":
        from tutorlib.exercises.n14_beat_cublas.judge.hopper_simulated import SimulatedChoice

        return SimulatedChoice(artifact.chosen)

    def without_gpu(self, artifact: AnswerLauncher, why: str) -> Verdict:
        """The kernel is the course's: what the simulator lacks of it is no answer's doing."""
        return self.simulate(artifact, why)

    def simulate_all(self, artifact: AnswerLauncher, why: str) -> Verdict:
        """Where no time is measured, the model judges the choices for the timed shapes."""
        verdict = super().simulate_all(artifact, why)
        choices = {shape: artifact.chosen(*shape) for shape in (*self.timed, *self.told)}
        slow = [far_off(*choice, self.close) or measured_slow(*choice, self.levers) for choice in choices.items()]
        if verdict.points < self.correctness_points or not (what := next(filter(None, slow), "")):
            return verdict
        return Verdict(self.correctness_points - 1, ("right, but " + what, f"Speed not run: {why}"), "partial")

    def launcher(self, artifact: AnswerLauncher) -> AnswerLauncher:
        return artifact


def shapes_between(spans: tuple[tuple[Shape, Shape], ...]) -> list[Shape]:
    """A shape between each of these pairs, of multiples of STEP."""
    rng = fresh_rng()
    return [
        tuple(STEP * rng.randint(low // STEP, high // STEP) for low, high in zip(least, most, strict=True))
        for least, most in spans
    ]


def far_off(shape: Shape, config: "HopperConfig", limit: float) -> str:
    """That the model expects more than `limit` times the time of the course's choice, as a sentence; or ""."""
    from tutorlib.kernels.hopper.choose import choose, cost

    m, n, k = shape
    best = choose(m, n, k)
    expected, least = (cost(one, m, n, k) for one in (config, best))
    if expected <= limit * least:
        return ""
    what = (
        f"for {by(shape)} the course's model expects {expected:,.0f} µs of {shown(config)}, "
        f"and {least:,.0f} µs of {shown(best)}."
    )
    return Flaw(what, Fail.SLOW)


def measured_slow(shape: Shape, config: "HopperConfig", sweep: str) -> str:
    """That the sweep has one like this, slow at this shape, as a sentence; or ""."""
    alike: dict[bool, list[float]] = {True: [], False: []}
    for swept in known_sweeps(sweep):
        for point in (point for point in swept.points if point.measurement.shape == shape):
            alike[bare(point.facts["config"]) == bare(asdict(config))].append(point.measurement.ratio)
    best = max(chain(*alike.values()), default=0.0)
    if not alike[True] or (reached := max(alike[True])) >= FAST * best:
        return ""
    what = f"for {by(shape)} the page's levers have {shown(config)} at {reached:.3f} of cuBLAS, and the fastest row at "
    return Flaw(f"{what}{best:.3f}.", Fail.SLOW)


def bare(settings: dict[str, Any]) -> dict[str, Any]:
    """A configuration's settings that are not the default's, but for NO_GAIN."""
    from tutorlib.kernels.hopper.config import HopperConfig

    default = asdict(HopperConfig())
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return {name: value for name, value in kept.items() if value != default[name] and name not in NO_GAIN}


def why_not_one(config: Any) -> str:
    """Why it is no configuration for the exercise, or ""."""
    from tutorlib.kernels.hopper.config import HopperConfig

    if not isinstance(config, HopperConfig):
        return Flaw("not a HopperConfig", Fail.CONFIG)
    if config.dtype != "bf16":
        return Flaw(f"A and B are bf16, not {config.dtype}", Fail.CONFIG)
    if config.scaled or config.trace:
        return Flaw("scaled and trace are not for this exercise", Fail.CONFIG)
    if config.majors != ("k", "k"):
        return Flaw(f"in A and B K is contiguous: majors=('k', 'k'), not {config.majors}", Fail.CONFIG)
    return ""


def shown(config: "HopperConfig") -> str:
    """Where it differs from the default configuration: "tile=(64, 128, 64), split_k=4"."""
    from dataclasses import fields

    changed = [one for one in fields(config) if getattr(config, one.name) != one.default]
    return ", ".join(f"{one.name}={getattr(config, one.name)!r}" for one in changed) or "HopperConfig()"


@cache
def compile_chosen(config: "HopperConfig") -> Compiled:
    """A configuration's compiled kernel, for all shapes. Raises CompileFailed."""
    import tempfile

    from tutorlib.compiling.compiled import inspect_kernel
    from tutorlib.kernels.hopper.launch import compile_gemm

    with tempfile.TemporaryDirectory() as folder:
        try:
            built = compile_gemm(config, f"--keep-ptx --keep-cubin --dump-dir {folder}")
        except Exception as error:  # whatever the DSL raises for what a rule has not foreseen
            raise CompileFailed(f"{shown(config)}: {type(error).__name__}: {str(error)[:300]}") from error
    target = cute_target(CAPABILITY)
    return inspect_kernel(target, built.__ptx__, built.__cubin__, config.smem_bytes, by_ptxas=True)
