"""How answers of pages 14 to 16 are judged: Hopper GEMMs around an answer's parts, and chosen configurations.

The sandbox shows this module, and nothing else of the pages.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.evidence import CuteRequest
from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.part import Filled, HostFunction, Part, need_callable, require_jit
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.scenario import Record
from tutorlib.checking.values import attempt, shorten
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.machine import device
from tutorlib.machine.features import WGMMA
from tutorlib.measuring.results import Point, known_sweeps
from tutorlib.models.hopper_gemm import Sm, gemm_time, repaired_cycles
from tutorlib.problems.differences import by
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.parts import Parts


# Page 14: answers that are a part of the GEMM of `kernels.hopper.first` ----------------------------------------------


def first_gemm(filled: Filled, *, ring: tuple[int, ...] = ()) -> HostFunction:
    """ring: the stages and the columns of a K tile."""
    from tutorlib.kernels.hopper.first import Parts, make_first_gemm

    return make_first_gemm(Parts(**filled), *ring)


# The course's model and its sweeps, which judge a configuration -------------------------------------------------------

Estimate = Callable[[HopperConfig, int, int, int], float]  # of a configuration at (m, n, k), in µs
FAR_OFF = 2.2  # times the best by the model: beyond, a choice is wrong whatever the errors of the model
FAR_OFF_TIMED = 1.8  # at shapes that are timed: sides exchanged cost 1.84 there, two rules in place of a model 1.79


def need_config(got: Any, shape: Shape) -> HopperConfig:
    """What an answer chose for a shape. Raises WrongKind where it is no configuration for bf16."""
    why = ""
    if not isinstance(got, HopperConfig):
        why = "not a HopperConfig"
    elif got.dtype != "bf16":
        why = f"A and B are bf16, not {got.dtype}"
    elif got.scaled:
        why = "scaled is not for this exercise"
    elif got.majors != ("k", "k"):
        why = f"in A and B K is contiguous: majors=('k', 'k'), not {got.majors}"
    if why:
        raise WrongKind(Flaw(f"for {by(shape)} it returns {shorten(got)}: {why}.", Fail.CONFIG))
    return got


def far_off(shape: Shape, config: HopperConfig, limit: float, page: bool = False) -> str:
    """That the course's model, or page 16's repaired one, expects over `limit` times the time of the former's first.

    What was learned since does not matter here: it prefers candidates whose cost is higher.
    """
    from tutorlib.kernels.hopper.choose import K_MAJORS, short_list
    from tutorlib.kernels.hopper.cost import cost

    m, n, k = shape
    best, *_ = short_list(m, n, k, SMS, "bf16", K_MAJORS)
    estimate = partial(gemm_time, sm=Sm(), step=repaired_cycles) if page else cost
    expected, least = (estimate(one, m, n, k) for one in (config, best))
    if expected <= limit * least:
        return ""
    whose, times = "repaired" if page else "course's", f"{expected:,.1f} µs of {shown(config)}, and {least:,.1f} µs of"
    return Flaw(f"for {by(shape)} the {whose} model expects {times} {shown(best)}.", Fail.SLOW)


def tight(shape: Shape, config: HopperConfig, free: HopperConfig) -> str:
    """That with device memory no limit it would take over a tenth longer than another whose cost is equal; or ""."""
    (m, n, k), unlimited = shape, Sm(hbm_bytes=inf)
    mine, least = (gemm_time(one, m, n, k, unlimited, repaired_cycles) for one in (config, free))
    if mine <= 1.1 * least:
        return ""
    what = f"for {by(shape)} {shown(config)} takes {mine:,.1f} µs without device memory's limit; at an equal cost"
    return Flaw(f"{what} another configuration takes {least:,.1f} µs.", Fail.SLOW)


LITTLE, MUCH = 8, 20  # K tiles: an SM's idle time where stream-K loses, and where it pays
SHARE = 0.05  # of the whole time, from which the latter pays
LEVERS = HopperConfig(cluster=(2, 1), defer_stores=True, zigzag=True, polls=True)


def wrong_lever(shape: Shape, config: HopperConfig) -> str:
    """That stream-K is off where it pays, or on where it costs, or another of the LEVERS is changed, as a sentence."""
    m, n, k = shape
    if replace(config, stream_k=False) != LEVERS:
        return Flaw(f"for {by(shape)} it has {shown(config)}; beside stream_k it is {shown(LEVERS)}.", Fail.SLOW)
    (tile_m, tile_n, tile_k), (cluster_m, cluster_n) = config.tile, config.cluster
    clusters = ceil(m / (tile_m * cluster_m)) * ceil(n / (tile_n * cluster_n))
    waves, k_tiles = clusters / Sm().at_once(config.cluster_size), ceil(k / tile_k)
    idle, total = (ceil(waves) - waves) * k_tiles, ceil(waves) * k_tiles
    if not (idle < LITTLE if config.stream_k else idle >= max(MUCH, SHARE * total)):
        return ""
    what = f"its {clusters} clusters leave an SM idle for {idle:.1f} of {total} K tiles, and stream_k is"
    return Flaw(f"for {by(shape)} {what} {config.stream_k}.", Fail.SLOW)


def modeled(point: Point, estimate: Estimate) -> float:
    """Estimate over measured time. The schedule "plain" is notebook 14's kernel, without roles."""
    config = HopperConfig(**{name: to for name, to in point.facts["config"].items() if to != "plain"})
    return estimate(config, *point.measurement.shape) / point.measurement.median_us


def model_errors(estimate: Estimate, *sweeps: str) -> list[tuple[str, Shape, float]]:
    """(kernel, shape, estimate over measured time) of each point of sweeps on an H200, whose constants are Sm's."""
    found = [swept for name in sweeps for swept in known_sweeps(name) if swept.gpu == "NVIDIA H200"]
    return [(p.name, p.measurement.shape, modeled(p, estimate)) for swept in found for p in swept.points]


def shown(config: HopperConfig) -> str:
    """Where it differs from the default configuration: "tile=(64, 128, 64), split_k=4"."""
    default = asdict(HopperConfig())
    changed = (f"{name}={value!r}" for name, value in asdict(config).items() if value != default[name])
    return ", ".join(changed) or "HopperConfig()"


# Answers that fill a slot of the persistent GEMM (`kernels.hopper.parts.Parts`), and one that fills them all.

SMS = 132  # of an H100 SXM and an H200
VECTOR = 8  # bf16 of 16 bytes, of which TMA's rows are multiples
STORE = "cp.async.bulk.tensor.2d.global"
FEW_SMS = {"sms": 2}  # of the simulated GPU, so that a block has several tiles even of a small C
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

    def of_unknown_size(tensor: Any) -> Any:
        """TMA's descriptor would lose a mode of one row, and take a box beside the only one for that one."""
        layout = cute.make_layout(tuple(map(Int32, tensor.shape)), stride=tensor.stride)
        return cute.make_tensor(tensor.iterator, layout)

    def launch(a: Any, b: Any, c: Any, *memory: Any) -> None:  # tensors of static shapes
        (m, n), k = c.shape, a.shape[1]
        if k % VECTOR or n % VECTOR:
            raise ValueError(f"N = {n}, K = {k}: TMA's rows start at multiples of 16 bytes, {VECTOR} elements")
        config, parts = choose(m, n, k)
        if config.transposed:
            a, b, c = b, a, cute.make_tensor(c.iterator, cute.select(c.layout, [1, 0]))
        a, b, c = map(of_unknown_size, (a, b, c))
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

    NOT_DEFERRED = "stores when nothing multiplies"
    COURSES = "the course's own part"


def persistent(filled: Filled, sms: int = SMS, **settings: Any) -> HostFunction:
    """The persistent GEMM with the answer's parts. settings: of HopperConfig."""
    from tutorlib.kernels.hopper.parts import COURSE

    config, parts = HopperConfig(**settings), replace(COURSE, **filled)
    return static_gemm(lambda m, n, k: (config, parts), sms, "give" in filled)


def not_deferred(compiled: Compiled) -> str:
    """That a kernel that defers stores stores no tile beside wgmmas, or ""."""
    if defers(re.findall(r"wgmma\.(?:commit|wait)_group|cp\.async\.bulk\.tensor\.\dd\.global", compiled.ptx)):
        return ""
    what = (
        "with defer, no tile is stored while wgmmas are in flight: store the previous tile between the first "
        "step of the next one and that step's retire."
    )
    return Flaw(what, SlotFlaw.NOT_DEFERRED)


def defers(steps: Sequence[str]) -> bool:
    """Whether some TMA store follows the commit of a wgmma group that is not waited for before it."""
    return ("wgmma.commit_group", STORE) in pairwise(steps)


@dataclass(frozen=True, kw_only=True)
class WholeKernel(Part):
    """The answer takes M, N and K and returns (its configuration, its parts).

    own: the slots that it fills. told: sizes at which counts say which levers pay.
    """

    own: tuple[str, ...]
    told: tuple[Shape, ...]

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """A lever that is wrong at one of these sizes."""
        flaws = [wrong_lever(shape, self.chosen(answer, shape)[0]) for shape in self.told]
        what = next(filter(None, flaws), "")
        return Verdict(points - 1, (what, "Which levers pay at this size?")) if what else None

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        if not simulated:
            return static_gemm(lambda *shape: self.chosen(answer, shape), SMS, shared=True)
        config, parts = HopperConfig(**self.small[simulated]), self.chosen(answer, simulated)[1]
        return static_gemm(lambda *shape: (config, parts), **FEW_SMS, shared=True)

    def chosen(self, answer: Answer, shape: Shape) -> "tuple[HopperConfig, Parts]":
        """Raises WrongKind."""
        from tutorlib.kernels.hopper.parts import COURSE, Parts

        got = need_callable(answer)(*shape)
        if not isinstance(got, tuple | list) or len(got) != 2 or not isinstance(got[1], Parts):
            raise WrongKind(f"{got!r} is not a pair of a HopperConfig and Parts.")
        config, parts = need_config(got[0], shape), got[1]
        for slot in self.own:
            require_jit(getattr(parts, slot))
            if getattr(parts, slot) is getattr(COURSE, slot):
                what = f"the slot {slot} has the course's function: fill it with your own."
                raise WrongKind(Flaw(what, SlotFlaw.COURSES))
        return config, parts


# Answers that choose the course's kernel ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Chosen(Part):
    """An answer that returns the HopperConfig for (M, N, K).

    timed: the shapes that a GPU times, where the choice must not be far off by the model.
    drawn: others, of which no answer can have a list.
    close: without a GPU a choice loses a point if the repaired model expects more than this times the course's choice
        for a timed shape, or for one of those `told`.
    free: shapes at which device memory is the limit of many configurations, and one of them that has most to spare.
    """

    timed: tuple[Shape, ...]
    told: tuple[Shape, ...] = ()
    drawn: tuple[Shape, ...] = ()
    close: float
    free: tuple[tuple[Shape, HopperConfig], ...] = ()

    def choice(self, answer: Answer, shape: Shape) -> HopperConfig:
        """Raises WrongKind."""
        config, fault = attempt(need_callable(answer), shape)
        if fault:
            raise WrongKind(fault.what)
        return need_config(config, shape)

    def look(self, answer: Answer, points: float) -> Verdict | None:
        choices = {shape: self.choice(answer, shape) for shape in (*self.timed, *self.told, *self.drawn)}
        limits = dict.fromkeys(self.drawn, FAR_OFF) | dict.fromkeys(self.timed, FAR_OFF_TIMED)
        if what := next(filter(None, (far_off(shape, choices[shape], limits[shape]) for shape in limits)), ""):
            return wrong(what)
        ties = (tight(shape, self.choice(answer, shape), best) for shape, best in self.free)
        if what := next(filter(None, ties), ""):
            return Verdict(points - 1, ("right, but " + what,))
        if not device.why_not(WGMMA):  # which tells more
            return None
        near = {shape: config for shape, config in choices.items() if shape not in self.drawn}
        what = next(filter(None, (far_off(*one, self.close, page=True) for one in near.items())), "")
        return Verdict(points - 1, ("right, but " + what, "Speed not run.")) if what else None

    def host(self, answer: Answer, simulated: Shape = ()) -> HostFunction:
        from tutorlib.kernels.hopper.parts import COURSE

        sms = FEW_SMS["sms"] if simulated else SMS
        return static_gemm(lambda *shape: (self.choice(answer, shape), COURSE), sms, shared=True)


@dataclass(frozen=True, kw_only=True)
class ChosenExercise(CuteExercise):
    """An exercise whose answer chooses a configuration. The slowest of the shapes timed, beside cuBLAS, counts.

    spans: of (M, N, K) the least and the most, for shapes that the judge draws, multiples of 16 bytes.
    """

    part: Chosen
    spans: tuple[tuple[Shape, Shape], ...] = ()

    @property
    def shapes_timed(self) -> tuple[Shape, ...]:
        return self.part.timed

    def request(self, simulated: tuple[Shape, ...], run: tuple[Shape, ...]) -> CuteRequest:
        rng = fresh_rng()
        drawn = tuple(
            tuple(VECTOR * rng.randint(low // VECTOR, high // VECTOR) for low, high in zip(least, most, strict=True))
            for least, most in self.spans
        )
        return replace(super().request(simulated, run), part=replace(self.part, drawn=drawn))


# Page 16: a tuner ----------------------------------------------------------------------------------------------------


class WarmingGpu:
    """Takes a little longer with each call, and for some calls twice as long. us: of each kernel at a shape."""

    SLOWER, INTERRUPTED = 3e-4, 17  # by so much with each call; every so many calls

    def __init__(self, us: dict[str, float]) -> None:
        self.us, self.timed = us, Counter[str]()

    def time(self, config: str) -> float:
        self.timed[config] += 1
        calls = self.timed.total()
        interrupted = calls % self.INTERRUPTED == 5
        return self.us[config] * (1 + self.SLOWER * calls) * (1 + interrupted)


MOST_TIMINGS = 10  # of a nominee at a shape
OFTEN = "number of nominees timed more than ten times"
Tuned = list[tuple[Shape, dict[str, float]]]  # shapes, and the µs of their nominees


def tuning(answer: Served, shapes: Tuned) -> Record:
    """What a tuner returns at each shape, and how often it has times taken."""
    record, often = Record(), 0
    for shape, us in shapes:
        gpu = WarmingGpu(us)
        record[f"the fastest at {by(shape)}"] = answer([*us], gpu.time)
        often += sum(count > MOST_TIMINGS for count in gpu.timed.values())
    return record | {OFTEN: often}
