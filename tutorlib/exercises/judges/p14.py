"""What the process of an answer needs of page 14's exercises."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import chain, pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.kernel import KernelExercise, compiled_not_run
from tutorlib.checking.part import Filled, HostFunction, Inside, KernelSettings, Part, need_callable, require_jit
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.served import Served
from tutorlib.checking.values import attempt, shorten
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.machine.features import WGMMA, Feature, cute_target
from tutorlib.measuring.launchers import HopperLauncher
from tutorlib.measuring.results import known_sweeps
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.parts import Parts
    from tutorlib.measuring.simulated_launchers import SimulatedLauncher
    from tutorlib.simulate.ptx import Report
    from tutorlib.simulate.ptx.languages.cute import Traced


# Exercises whose answer chooses the Hopper GEMM's configuration: one for all shapes, or one for each.

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

    def accept(self, answer: Answer) -> AnswerLauncher:
        if self.by_shape:
            return AnswerLauncher(answer)
        config, fault = attempt(answer, ())
        if fault:
            raise WrongKind(fault.what)
        return AnswerLauncher(lambda m, n, k: config)

    def evidence(self, served: Served, *sizes: Any) -> AnswerLauncher:
        """Of these answers what they return."""
        served.refuse(self.library)
        return self.accept(served)

    def examine(self, evidence: AnswerLauncher) -> Verdict | None:
        """Every shape has a configuration: where it is timed or drawn, one that is not far off by the model.

        Of the timed ones, that with the fewest registers to spare is compiled, and may not spill.
        """
        others = shapes_between(self.drawn)
        for shape in (*self.sizes, *self.told, *others):
            config, fault = attempt(evidence.choose, shape)
            if fault:
                return wrong(fault.what)
            if not_one := why_not_one(config):
                return wrong(f"for {by(shape)} it returns {shorten(config)}: " + not_one + ".")
            evidence.kept[shape] = config
            limit = FAR_OFF_TIMED if shape in self.timed else FAR_OFF
            if shape in (*self.timed, *others) and (what := far_off(shape, config, limit)):
                return wrong(what)
        tightest = min(self.timed, key=lambda shape: evidence.kept[shape].spare_registers)
        compiled = compile_chosen(config := evidence.kept[tightest])
        if compiled.spill_bytes:
            return wrong(f"for {by(tightest)}: {shown(config)} spills {compiled.spill_bytes} bytes in each thread.")
        return None

    def unrun(self, why: str) -> Verdict:
        return compiled_not_run(cute_target(CAPABILITY), why)

    def simulator(self, evidence: AnswerLauncher) -> "SimulatedLauncher":
        from tutorlib.exercises.judges.p14 import SimulatedChoice

        return SimulatedChoice(evidence.chosen)

    def simulate(self, evidence: AnswerLauncher, why: str) -> Verdict:
        """The kernel is the course's: what the simulator lacks of it is no answer's doing."""
        from tutorlib.simulate.ptx import NotSimulated

        try:
            return self.simulate_all(evidence, why)
        except NotSimulated as error:
            return self.unrun(str(error))

    def simulate_all(self, evidence: AnswerLauncher, why: str) -> Verdict:
        """Where no time is measured, the model judges the choices for the timed shapes."""
        verdict = super().simulate_all(evidence, why)
        choices = {shape: evidence.chosen(*shape) for shape in (*self.timed, *self.told)}
        slow = [far_off(*choice, self.close) or measured_slow(*choice, self.levers) for choice in choices.items()]
        if verdict.points < self.correctness_points or not (what := next(filter(None, slow), "")):
            return verdict
        return Verdict(self.correctness_points - 1, ("right, but " + what, f"Speed not run: {why}"), "partial")

    def launcher(self, evidence: AnswerLauncher) -> AnswerLauncher:
        return evidence


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
    if config.scaled:
        return Flaw("scaled is not for this exercise", Fail.CONFIG)
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


# The Hopper GEMM of `kernels.hopper` on the simulator, as a GPU with few SMs would run it.

TARGET = "sm_90a"
CLUSTERS = 2  # that the GPU holds at a time: so few that persistent blocks have several tiles even of a small C
ARGUMENTS = ("a", "b", "c", "scale_a", "scale_b", "acc", "flags")


def compile_config(config: "HopperConfig", package: "ModuleType | None" = None) -> "Traced":
    """The host function for matrices of any shape. package: `kernels.hopper.launch`, or that of a changed copy.

    Raises whatever the DSL raises.
    """
    from cutlass import Int32
    from cutlass.cute.runtime import make_fake_stream

    from tutorlib.kernels.hopper import launch
    from tutorlib.simulate.ptx.languages.cute import compile_for

    package = package or launch
    return compile_for(package.make_gemm(config), [*package.fakes(config), Int32(1), make_fake_stream()], TARGET)


def simulate_config(
    compiled: "Traced", tensors: "Mapping[str, Tensor]", clusters: int = CLUSTERS, traced: bool = False
) -> "list[Report]":
    """Call it on tensors in ordinary memory, by the names of its ARGUMENTS; those that it does not need are left out.

    traced: as `simulate`.
    """
    import cuda.bindings.driver as cuda

    from tutorlib.kernels.hopper.launch import dlpack
    from tutorlib.simulate.ptx.languages.cute import simulate_host

    given = [dlpack(tensors[name]) if name in tensors else None for name in ARGUMENTS]
    return simulate_host(compiled, dict(tensors), [*given, clusters, cuda.CUstream(0)], traced=traced)


def room_for_accumulators(config: "HopperConfig", clusters: int = CLUSTERS) -> "dict[str, Tensor]":
    """Room for accumulators, NaN, and zeroed flags, where blocks share tiles."""
    import torch

    if not config.stream_k:
        return {}
    blocks = clusters * config.cluster_size
    acc = torch.full((blocks * config.tile[0] * config.tile[1],), torch.nan)
    return {"acc": acc, "flags": torch.zeros(blocks * config.threads // 32, dtype=torch.int32)}


@dataclass
class SimulatedChoice:
    """A launcher (`problems.work.Launcher`) that simulates the GEMM in the configuration chosen for a shape.

    choose: takes M, N, K. reports: of the last call's launches. traced: as SimulatedLauncher's.
    """

    choose: "Callable[[int, int, int], HopperConfig]"
    reports: "list[Report]" = field(default_factory=list)
    traced: bool = False
    _compiled: "dict[HopperConfig, Traced]" = field(default_factory=dict)

    def compiled(self, shape: Shape) -> "tuple[HopperConfig, Traced]":
        m, n, k = shape
        config = self.choose(m, n, k)
        if config not in self._compiled:
            self._compiled[config] = compile_config(config)
        return config, self._compiled[config]

    def ptx(self, shape: Shape) -> str:
        return self.compiled(shape)[1].ptx

    def on(self, work: Work) -> Call:
        config, compiled = self.compiled(work.shape)
        a, b, c = work.tensors
        tensors = {"a": b, "b": a, "c": c.mT} if config.transposed else {"a": a, "b": b, "c": c}

        def call() -> None:
            self.reports = simulate_config(compiled, {**tensors, **room_for_accumulators(config)}, traced=self.traced)

        return call


# Answers that fill a slot of the persistent GEMM (`kernels.hopper.parts.Parts`), and one that fills them all.

SMS = 132  # of an H100 SXM and an H200
VECTOR = 8  # bf16 of 16 bytes
FEW_SMS = {"sms": 2}  # of the simulated GPU, so that a block has several tiles even of a small C
FEW_WAITS = 3  # for all copies: before a tile, at the two places where tiles are stored, and at the end
TELLING = (  # a few tiles with long K, where one for large matrices is slow; then one where M and N exchanged are
    ((512, 512, 8192), FAR_OFF),
    ((64, 4096, 8192), FAR_OFF),
    ((1536, 2560, 3072), FAR_OFF_TIMED),
)
MOST_AREA = 256 * 208  # of a tile whose accumulators fit into registers
ACCUMULATORS, FLAGS = SMS * MOST_AREA, SMS * 8  # of all blocks, with at most 8 warps that multiply


def static_gemm(
    choose: Callable[[int, int, int], "tuple[HopperConfig, Parts]"], sms: int, shared: bool = False
) -> HostFunction:
    """The host function gemm(a, b, c) of the configuration and parts for its tensors' static sizes.

    shared: gemm(a, b, acc, flags, c), with scratch memory, which a configuration with stream_k needs.
    It raises ValueError while it is compiled where rows of A, B or C do not start at multiples of 16 bytes.
    """
    from cutlass import Int32, cute

    from tutorlib.kernels.hopper.gemm import Beside, launch_gemm

    def launch(a: Any, b: Any, c: Any, *memory: Any) -> None:  # tensors of static shapes
        (m, n), k = c.shape, a.shape[1]
        if k % VECTOR or n % VECTOR:
            raise ValueError(f"N = {n}, K = {k}: TMA's rows start at multiples of 16 bytes, {VECTOR} elements")
        config, parts = choose(m, n, k)
        if config.transposed:
            a, b, c = b, a, cute.make_tensor(c.iterator, cute.select(c.layout, [1, 0]))
        # A layout that knows of one box only would take a box beside C for that one: so it does not know.
        c = cute.make_tensor(c.iterator, cute.make_layout(tuple(map(Int32, c.shape)), stride=c.stride))
        acc, flags = memory if config.stream_k else (None, None)
        clusters = Int32(max(sms // config.cluster_size, 1))
        launch_gemm(a, b, c, Beside(None, None, acc, flags, None), clusters, config, parts)

    if shared:

        @cute.jit
        def gemm_with_scratch(
            a: cute.Tensor, b: cute.Tensor, acc: cute.Tensor, flags: cute.Tensor, c: cute.Tensor
        ) -> None:
            launch(a, b, c, acc, flags)

        return gemm_with_scratch

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        launch(a, b, c)

    return gemm


class SlotFlaw(FailureKind):
    """Why a part gives right results and is not the part that was asked for."""

    REGISTERS_LATE = "multiplies before it has its registers"
    NOT_OVERLAPPED = "one wgmma group at a time"
    NOT_DEFERRED = "stores when nothing multiplies"
    ALWAYS_DEFERRED = "defers stores unasked"
    WAITS_FOR_WRITES = "waits until C is written"
    ONE_COPY = "one copy in flight"
    COURSES = "the course's own part"


def persistent(filled: Filled, sms: int = SMS, **settings: Any) -> HostFunction:
    """The persistent GEMM with the answer's parts. settings: of HopperConfig."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.parts import COURSE

    config, parts = HopperConfig(**settings), replace(COURSE, **filled)
    return static_gemm(lambda m, n, k: (config, parts), sms, "give" in filled)


def registers_late(compiled: Compiled) -> str:
    """That consumers multiply before they have taken their registers, or ""."""
    ptx = compiled.ptx
    if "setmaxnreg.inc" not in ptx or ptx.index("setmaxnreg.inc") < ptx.index("wgmma.mma_async"):
        return ""
    what = "the consumers multiply before they have taken their registers: setmaxregister_increase comes first."
    return Flaw(what, SlotFlaw.REGISTERS_LATE)


def not_deferred(compiled: Compiled) -> str:
    """That a kernel that defers stores has one wgmma group at a time, or stores no tile beside wgmmas, or ""."""
    if not re.search(r"wgmma\.wait_group\S*\s+1;", compiled.ptx):
        what = (
            "it waits for every wgmma group before it issues the next, so the tensor cores run dry: retire(1, …) "
            "leaves the newest group in flight."
        )
        return Flaw(what, SlotFlaw.NOT_OVERLAPPED)
    if defers(compiled.ptx):
        return ""
    what = (
        "with defer, no tile is stored while wgmmas are in flight: store the previous tile between the first "
        "step of the next one and that step's retire."
    )
    return Flaw(what, SlotFlaw.NOT_DEFERRED)


def defers(ptx: str) -> bool:
    """Whether in the text some TMA store follows the commit of a wgmma group that is not waited for before it."""
    steps = re.findall(r"wgmma\.(?:commit|wait)_group|cp\.async\.bulk\.tensor\.\dd\.global", ptx)
    return ("wgmma.commit_group", "cp.async.bulk.tensor.2d.global") in pairwise(steps)


def stores_in_turn(compiled: Compiled) -> str:
    """That a copy to C is waited for longer than its buffer needs, or ""."""
    waits = re.findall(r"cp\.async\.bulk\.wait_group(\S*)\s+(\d+);", compiled.ptx)
    if any(not kind for kind, _ in waits):
        what = (
            "it waits until C itself is written. A buffer is free as soon as TMA has read it: "
            "cp_async_bulk_wait_group(…, read=True)."
        )
        return Flaw(what, SlotFlaw.WAITS_FOR_WRITES)
    if len(waits) > FEW_WAITS and all(number == "0" for _, number in waits):
        what = (
            "it waits for all copies before each piece, so one buffer would do. Before a buffer is written again, "
            "as many newer copies may be in flight as there are other buffers."
        )
        return Flaw(what, SlotFlaw.ONE_COPY)
    return ""


@dataclass(frozen=True, kw_only=True)
class Deferring(Inside):
    """An answer whose kernel defers stores where its configuration says so, and not otherwise."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        matrix = TensorSpec((512, 512), "bf16")
        try:
            compiled = compile_cute(self.kernel(self.filled(answer)), [matrix] * 3, "sm_90a")
        except CompileFailed:
            return None  # nor does the other kernel compile
        if not defers(compiled.ptx):
            return None
        what = "with defer=False it holds a rounded tile back all the same, in registers that its tile may need."
        return Verdict(points - 1, (Flaw(what, SlotFlaw.ALWAYS_DEFERRED),))


@dataclass(frozen=True, kw_only=True)
class WholeKernel(Part):
    """The answer takes M, N and K and returns (its configuration, its parts).

    small: the configurations that are simulated, by shape, in place of the answer's.
    """

    small: Mapping[Shape, KernelSettings]

    @property
    def sizes_simulated(self) -> tuple[Shape, ...]:
        return tuple(self.small)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Its configurations, where one for another shape is far slower than the best."""
        flaws = (far_off(shape, self.chosen(answer, shape)[0], limit) for shape, limit in TELLING)
        what = next(filter(None, flaws), "")
        return Verdict(points - 1, (what, "Is its configuration your `choose` for the shape?")) if what else None

    def host(self, answer: Answer) -> HostFunction:
        return static_gemm(lambda *shape: self.chosen(answer, shape), SMS, shared=True)

    def simulated_host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        return static_gemm(
            lambda *shape: (HopperConfig(**self.small[shape]), self.chosen(answer, shape)[1]), **FEW_SMS, shared=True
        )

    def chosen(self, answer: Answer, shape: Shape) -> "tuple[HopperConfig, Parts]":
        """Raises WrongKind."""
        from tutorlib.kernels.hopper.parts import COURSE, Parts

        got = need_callable(answer)(*shape)
        if not isinstance(got, tuple | list) or len(got) != 2 or not isinstance(got[1], Parts):
            raise WrongKind(f"{got!r} is not a pair of a HopperConfig and Parts.")
        config, parts = got
        if not_one := why_not_one(config):
            raise WrongKind(f"its configuration is {config!r}: " + not_one + ".")
        for slot in fields(Parts):
            require_jit(getattr(parts, slot.name))
            if getattr(parts, slot.name) is getattr(COURSE, slot.name):
                what = f"the slot {slot.name} has the course's function: fill each of the eight with your own."
                raise WrongKind(Flaw(what, SlotFlaw.COURSES))
        return config, parts


# Answers that are one of the two roles of a Hopper GEMM.


def specialized(filled: Filled, **settings: Any) -> HostFunction:
    """The GEMM of two roles; the course has the other one's loop. settings: of HopperConfig."""
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.specialized import load_steps, make_specialized, multiply_steps

    loops = {"produce": load_steps, "consume": multiply_steps} | filled
    return make_specialized(HopperConfig(**settings), loops["produce"], loops["consume"])
