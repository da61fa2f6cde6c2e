"""Answers that are a part of notebook 13's GEMM: looked at before any GPU runs it."""

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, WrongKind, wrong
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cute import call_host, compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.ptx import HOPPER_OPCODES, opcodes
from tutorlib.compiling.spec import TensorSpec
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.problems.problem import Shape

BYTES = 2  # of a bf16
VECTOR = 8  # elements of 16 bytes, which a swizzle keeps together

FirstPartName = Literal["ring_layout", "boxes", "fragments", "multiply", "barriers", "main_loop", "epilogue"]


class RingFlaw(FailureKind):
    """What is wrong with the layout of the stages."""

    NO_LAYOUT = "not a layout"
    NOT_SWIZZLED = "not swizzled"
    SHAPE = "shape of the stages"
    PLACE = "place by TMA"


class InitFlaw(FailureKind):
    """The fence that comes too late for other threads; a count that is written as a number."""

    LATE = "init fence too late"
    COUNT = "arrivals for one kernel"


class StoreFlaw(FailureKind):
    """A step that is missing between the accumulators and C."""

    NO_STORE = "no TMA store"
    BARRIER = "no barrier before stmatrix"
    TOO_EARLY = "stored before it is written"
    FENCE = "no proxy fence"
    WARP = "no barrier of the warp"
    NO_WAIT = "no wait for the store"


@dataclass(frozen=True, kw_only=True)
class FirstPart(Part):
    """A part of the GEMM of `kernels.hopper.first`.

    jit: whether it is a @cute.jit function. small: the stages and the columns of a K tile that are simulated, by shape.
    """

    name: FirstPartName
    jit: bool = False
    small: tuple[tuple[Shape, tuple[int, int]], ...] = ()

    def host(self, answer: Answer) -> HostFunction:
        return self.gemm(answer)

    def simulated_host(self, answer: Answer) -> HostFunction:
        small = {shape: self.gemm(answer, *ring) for shape, ring in self.small}
        return host_by_shape(small) if small else self.host(answer)

    def gemm(self, answer: Answer, *ring: int) -> HostFunction:
        from tutorlib.kernels.hopper.first import Parts, make_first_gemm

        need_callable(answer)
        if self.jit:
            require_jit(answer)
        return make_first_gemm(Parts(**{self.name: answer if self.jit else self.looked_at(answer)}), *ring)

    def looked_at(self, answer: Answer) -> Answer:
        """The answer, refused with a sentence if the returned value cannot work."""

        def part(*args: Any) -> Any:
            got = answer(*args)
            if flaw := self.find_flaw(got, *args):
                raise WrongKind(flaw)  # from within the compiler
            return got

        return part

    def find_flaw(self, got: Any, *args: Any) -> str:
        """What is wrong with what the part returned for these arguments, or ""."""
        return ""


@dataclass(frozen=True, kw_only=True)
class RingLayout(FirstPart):
    """A layout (rows, K, stages): looked at as CuTe makes it, byte by byte, then used in the kernel."""

    name: FirstPartName = "ring_layout"

    def look(self, answer: Answer, points: float) -> Verdict | None:
        need_callable(answer)
        for k, (rows, stages) in product((64, 32, 16), RINGS):
            try:
                broken = find_misplaced(answer, rows, k, stages)
            except CompileFailed as error:
                what = f"CuTe refuses ring_layout({rows}, {k}, {stages})."
                return wrong(Flaw(what, Fail.DOES_NOT_COMPILE), error.args[0])
            if broken:
                return wrong(f"ring_layout({rows}, {k}, {stages}): " + broken)
        return None


RINGS = ((32, 3), (128, 4))  # rows, stages


def find_misplaced(answer: Answer, rows: int, k: int, stages: int) -> str:
    """What is wrong with the layout, or "": its shape, or the first 16 bytes that are not where TMA puts them.

    CUDA driver API, CU_TENSOR_MAP_SWIZZLE_*: rows of w = 128, 64 or 32 bytes follow each other, and in each line of
    128 bytes the 16-byte units change places with the bits of the address above them: w = 128: 3 bits of the line's
    number, 64: 2 bits, 32: 1 bit.
    Raises CompileFailed.
    """
    from cutlass import cute

    flaws: list[Flaw] = []

    def note(layout: Any) -> None:
        if isinstance(layout, cute.Layout):
            flaws.append(Flaw("it is a plain layout; TMA and WGMMA need swizzle ∘ layout.", RingFlaw.NOT_SWIZZLED))
            return
        if not isinstance(layout, cute.ComposedLayout):
            got_one = "None" if layout is None else f"a {type(layout).__name__}"
            flaws.append(Flaw(f"it returns {got_one}, not a layout.", RingFlaw.NO_LAYOUT))
            return
        if (shape := cute.product_each(layout.shape)) != (rows, k, stages):
            what = f"it has the shape {shape}; it should be {(rows, k, stages)}, (rows, k, stages)."
            flaws.append(Flaw(what, RingFlaw.SHAPE))
            return
        swizzle, outer = layout.inner, layout.outer
        for row, vector, stage in product(range(rows), range(k // VECTOR), range(stages)):
            offset = BYTES * int(outer((row, vector * VECTOR, stage)))
            got = swizzled(offset, swizzle.num_bits, swizzle.num_base, swizzle.num_shift)
            if got != (want := place_by_tma((stage * rows + row) * k * BYTES + vector * 16, k * BYTES)):
                what = (
                    f"row {row}, columns {vector * VECTOR} to {vector * VECTOR + 7}, stage {stage} should begin at "
                    f"byte {want}, and begin at byte {got}." + (IN_BYTES if got % 16 else "")
                )
                flaws.append(Flaw(what, RingFlaw.PLACE))

    @cute.jit
    def host() -> None:
        note(answer(rows, k, stages))

    call_host(host)
    return flaws[0] if flaws else ""


IN_BYTES = " The swizzle belongs to the pointer and counts bytes: the lowest 4 bits stay."


def place_by_tma(byte: int, width: int) -> int:
    """Where TMA puts the 16 bytes that begin at this byte of a box whose rows have a width of 128, 64 or 32 bytes."""
    lines = {128: 8, 64: 4, 32: 2}[width]
    return byte ^ byte // 128 % lines * 16


def swizzled(offset: int, bits: int, base: int, shift: int) -> int:
    """Swizzle⟨bits, base, shift⟩: XORs `bits` bits, `shift` above, onto those from `base` on."""
    return offset ^ (offset >> shift & ((1 << bits) - 1) << base)


def several(got: Any, number: int) -> bool:
    """Whether a function returned `number` things: a tuple, a list or MLIR's list of results."""
    from cutlass import cute

    return not isinstance(got, cute.Tensor) and hasattr(got, "__len__") and len(got) == number


@dataclass(frozen=True, kw_only=True)
class Boxes(FirstPart):
    """(box, stages) of shared memory and (box, K tiles) of the matrix."""

    name: FirstPartName = "boxes"

    def find_flaw(self, got: Any, *args: Any) -> str:
        from cutlass import cute

        _, s, g = args
        if not several(got, 2):
            return "boxes should return two tensors: of shared memory, and of the matrix."
        if str(got[1].layout) == str(cute.group_modes(g, 0, 2).layout):
            return "the box of the matrix is not cut for TMA: cpasync.tma_partition returns both sides."
        for name, tensor, whole in (("shared memory", got[0], s), ("the matrix", got[1], g)):
            rows, k, number = (cute.size(whole, mode=[mode]) for mode in range(3))
            box, shape = rows * k, tensor.shape
            if len(shape) != 2 or (cute.size(shape[0]), cute.size(shape[1])) != (box, number):
                return (
                    f"for {name}, whose shape is {whole.shape}, it returns a tensor of shape {shape}: "
                    f"it should be ({box} elements of a box, {number})."
                )
        return ""


HALF = 128  # columns of a smaller tile than the kernel's, so that a tile written as numbers is found out


@dataclass(frozen=True, kw_only=True)
class Fragments(FirstPart):
    """Descriptors of both operands, and registers for the accumulators."""

    name: FirstPartName = "fragments"

    def looked_at(self, answer: Answer) -> Answer:
        part = super().looked_at(answer)

        def for_two_tiles(tiled_mma: Any, thread: Any, sA: Any, sB: Any) -> Any:
            from cutlass import cute

            from tutorlib.kernels.hopper.first import make_wgmma

            _, k, stages = (cute.size(sB, mode=[mode]) for mode in range(3))
            part(make_wgmma(HALF), thread, sA, cute.local_tile(sB, (HALF, k, stages), (0, 0, 0)))
            return part(tiled_mma, thread, sA, sB)

        return for_two_tiles

    def find_flaw(self, got: Any, *args: Any) -> str:
        from cutlass import Float32, cute

        if not several(got, 3):
            return "wgmma_fragments should return three tensors: tCrA, tCrB, tCrC."
        *operands, acc = got
        for name, fragment, s in zip(("tCrA", "tCrB"), operands, args[2:], strict=True):
            wanted = (1, 1, cute.size(s, mode=[1]) // 16, cute.size(s, mode=[2]))
            if tuple(map(cute.size, fragment.shape)) != wanted:
                return f"{name} has the shape {fragment.shape}; descriptors are {wanted}: K blocks and stages last."
        if acc.element_type is not Float32:
            return f"tCrC holds {acc.element_type}: accumulators are kept in Float32."
        rows, columns = (cute.size(s, mode=[0]) for s in args[2:])
        if cute.size(acc) != (wanted := columns // 2):
            return (
                f"for a tile of {rows}×{columns} tCrC has {cute.size(acc)} registers; a thread holds {wanted} of its "
                f"warpgroup's 64×{columns} accumulators."
            )
        return ""


@dataclass(frozen=True, kw_only=True)
class InitBarriers(FirstPart):
    """The mbarriers' initialization."""

    name: FirstPartName = "barriers"
    jit: bool = True

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Whether it counts the same arrivals for twice as many warps."""
        from tutorlib.kernels.hopper.first import Parts, make_first_gemm

        require_jit(answer)

        def for_more(full: Any, empty: Any, stages: int, warps: int, thread: Any) -> None:
            answer(full, empty, stages, 2 * warps, thread)

        try:
            texts = {
                compile_cute(make_first_gemm(Parts(barriers=part)), [TensorSpec((256, 256), "bf16")] * 3, "sm_90a").ptx
                for part in (answer, for_more)
            }
        except CompileFailed:
            return None
        if len(texts) > 1:
            return None
        what = "right for 8 warps alone: with another `warps` it initializes the same counts."
        return Verdict(points - 1, (Flaw(what, InitFlaw.COUNT),))

    def lacks(self, compiled: Compiled) -> str:
        """A fence that is harmless here alone, where the thread that initializes also loads."""
        _, _, after = compiled.ptx.rpartition("mbarrier.init.")
        before, _, behind = after.partition("bar.sync")
        if "fence.mbarrier_init" not in behind or "fence.mbarrier_init" in before or "fence.proxy.async" in before:
            return ""
        what = "mbarrier_init_fence() comes after the barrier, too late for another warp that loads right after it."
        return Flaw(what, InitFlaw.LATE)


@dataclass(frozen=True, kw_only=True)
class TmaEpilogue(FirstPart):
    """Registers → stmatrix → TMA: the compiled text must have the barriers and fences between them."""

    name: FirstPartName = "epilogue"
    jit: bool = True

    def lacks(self, compiled: Compiled) -> str:
        return find_race(epilogue_orders(compiled.ptx))


def epilogue_orders(ptx: str) -> list[str]:
    """The instructions behind the last wait for wgmma, by their names in HOPPER_OPCODES."""
    return opcodes(ptx[ptx.rindex("wgmma.wait_group") :], HOPPER_OPCODES)


def find_race(orders: list[str]) -> str:
    """The first race between the accumulators and C, or ""."""
    stores = [place for place, name in enumerate(orders) if name == "TMA store"]
    if not stores:
        return Flaw("no TMA store is issued: cute.copy(acc.tma, …).", StoreFlaw.NO_STORE)
    if "bar.sync" not in orders[: orders.index("stmatrix")]:
        return Flaw(
            "stmatrix writes where the stages of A were, and the other warpgroup may still be multiplying from them: "
            "sync_threads() before it.",
            StoreFlaw.BARRIER,
        )
    for at in stores:
        written = max((place for place in range(at) if orders[place] == "stmatrix"), default=None)
        if written is None:
            return Flaw("TMA stores before stmatrix has written.", StoreFlaw.TOO_EARLY)
        between = orders[written:at]
        if "fence.proxy" not in between:
            return Flaw(
                "TMA may store what was there before: threads write through the generic proxy, TMA reads through the "
                'async one; fence_proxy("async.shared", space="cta") makes the writes visible to TMA.',
                StoreFlaw.FENCE,
            )
        if not {"bar.warp.sync", "bar.sync"} & set(between):
            what = "TMA takes the whole box, and the warp's other threads may not have written their part: sync_warp()."
            return Flaw(what, StoreFlaw.WARP)
    ending = iter(orders[stores[-1] :])
    if not all(name in ending for name in ("bulk commit", "bulk wait")):  # one after the other: `in` consumes
        return Flaw(
            "the block may end while TMA still reads its shared memory: commit the bulk group, and wait until no "
            "group is left.",
            StoreFlaw.NO_WAIT,
        )
    return ""
