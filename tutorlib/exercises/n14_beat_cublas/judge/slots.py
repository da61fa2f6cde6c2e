"""Answers that fill a slot of the persistent GEMM (`kernels.hopper.slots.Parts`), and one that fills them all."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import HostFunction, Part, need_callable
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.exercises.n14_beat_cublas.judge.chosen_config import FAR_OFF, FAR_OFF_TIMED, far_off, why_not_one
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.slots import Parts

SMS = 132  # of an H100 SXM and an H200
VECTOR = 8  # bf16 of 16 bytes
FEW_SMS = 2  # of the simulated GPU, so that a block has several tiles even of a small C
FEW_WAITS = 3  # for all copies: before a tile, at the two places where tiles are stored, and at the end
TELLING = (  # a few tiles with long K, where one for large matrices is slow; then one where M and N exchanged are
    ((512, 512, 8192), FAR_OFF),
    ((64, 4096, 8192), FAR_OFF),
    ((1536, 2560, 3072), FAR_OFF_TIMED),
)
MOST_AREA = 256 * 208  # of a tile whose accumulators fit into registers
ACCUMULATORS, FLAGS = SMS * MOST_AREA, SMS * 8  # of all blocks, with at most 8 warps that multiply
Settings = Mapping[str, Any]  # for HopperConfig


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


@dataclass(frozen=True, kw_only=True)
class Slot(Part):
    """names: of the slots that the answer fills, one function or a tuple of them; the others are the course's.

    settings: of the kernel that a GPU runs. small: of those that are simulated, by shape.
    """

    names: tuple[str, ...]
    settings: Settings = field(default_factory=dict)
    small: tuple[tuple[Shape, Settings], ...] = ()

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        config, parts = HopperConfig(**self.settings), self.parts(answer)
        return static_gemm(lambda m, n, k: (config, parts), SMS, "give" in self.names)

    def simulated_host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        small, parts = dict(self.small), self.parts(answer)
        return static_gemm(lambda m, n, k: (HopperConfig(**small[m, n, k]), parts), FEW_SMS, "give" in self.names)

    def parts(self, answer: Answer) -> "Parts":
        """Raises WrongKind."""
        from tutorlib.kernels.hopper.slots import COURSE

        filled = answer if isinstance(answer, tuple | list) else (answer,)
        if len(filled) != len(self.names):
            raise WrongKind(f"{answer!r} is not {len(self.names)} functions.")
        for function in filled:
            require_jit(function)
        return replace(COURSE, **dict(zip(self.names, filled, strict=True)))


@dataclass(frozen=True, kw_only=True)
class RolesSlot(Slot):
    def lacks(self, compiled: Compiled) -> str:
        ptx = compiled.ptx
        if "setmaxnreg.inc" in ptx and ptx.index("setmaxnreg.inc") > ptx.index("wgmma.mma_async"):
            what = "the consumers multiply before they have taken their registers: setmaxregister_increase comes first."
            return Flaw(what, SlotFlaw.REGISTERS_LATE)
        return ""


@dataclass(frozen=True, kw_only=True)
class ConsumeSlot(Slot):
    """The GPU's kernel defers stores."""

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Whether the kernel without deferred stores defers none."""
        from tutorlib.kernels.hopper.config import HopperConfig

        parts, matrix = self.parts(answer), TensorSpec((512, 512), "bf16")
        at_once = static_gemm(lambda m, n, k: (HopperConfig(), parts), SMS)
        try:
            compiled = compile_cute(at_once, [matrix] * 3, "sm_90a")
        except CompileFailed:
            return None  # nor does the other kernel compile
        if not defers(compiled.ptx):
            return None
        what = "with defer=False it holds a rounded tile back all the same, in registers that its tile may need."
        return Verdict(points - 1, (Flaw(what, SlotFlaw.ALWAYS_DEFERRED),))

    def lacks(self, compiled: Compiled) -> str:
        if not re.search(r"wgmma\.wait_group\S*\s+1;", compiled.ptx):
            what = (
                "it waits for every wgmma group before it issues the next, so the tensor cores run dry: retire(1, …) "
                "leaves the newest group in flight."
            )
            return Flaw(what, SlotFlaw.NOT_OVERLAPPED)
        if not defers(compiled.ptx):
            what = (
                "with defer, no tile is stored while wgmmas are in flight: store the previous tile between the first "
                "step of the next one and that step's retire."
            )
            return Flaw(what, SlotFlaw.NOT_DEFERRED)
        return ""


def defers(ptx: str) -> bool:
    """Whether in the text some TMA store follows the commit of a wgmma group that is not waited for before it."""
    steps = re.findall(r"wgmma\.(?:commit|wait)_group|cp\.async\.bulk\.tensor\.\dd\.global", ptx)
    return ("wgmma.commit_group", "cp.async.bulk.tensor.2d.global") in pairwise(steps)


@dataclass(frozen=True, kw_only=True)
class StoreSlot(Slot):
    def lacks(self, compiled: Compiled) -> str:
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
class WholeKernel(Part):
    """The answer takes M, N and K and returns (its configuration, its parts).

    small: the configurations that are simulated, by shape, in place of the answer's.
    """

    small: tuple[tuple[Shape, Settings], ...] = ()

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Its configurations, where one for another shape is far slower than the best."""
        flaws = (far_off(shape, self.chosen(answer, shape)[0], limit) for shape, limit in TELLING)
        what = next(filter(None, flaws), "")
        return Verdict(points - 1, (what, "Is its configuration your `choose` for the shape?")) if what else None

    def host(self, answer: Answer) -> HostFunction:
        return static_gemm(lambda *shape: self.chosen(answer, shape), SMS, shared=True)

    def simulated_host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        small = dict(self.small)
        return static_gemm(
            lambda *shape: (HopperConfig(**small[shape]), self.chosen(answer, shape)[1]), FEW_SMS, shared=True
        )

    def chosen(self, answer: Answer, shape: Shape) -> "tuple[HopperConfig, Parts]":
        """Raises WrongKind."""
        from tutorlib.kernels.hopper.slots import COURSE, Parts

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
