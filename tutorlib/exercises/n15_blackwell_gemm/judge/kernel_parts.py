"""Judges the parts of the Blackwell kernel, and the kernel that the reader makes of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, Verdict, WrongKind
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.cute import compile_cute
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.ptx import allocated_columns
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.cute.functions import says_it_is_kernel
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape
from tutorlib.problems.wrong import count

if TYPE_CHECKING:
    from tutorlib.kernels.blackwell.config import BlackwellConfig
    from tutorlib.simulate.ptx.report import Issued

ROLES = ("produce", "multiply", "store")
K_BLOCKS = 4  # multiplications of a K tile of 64
PART = 64  # columns that a thread reads at a time
WARPS = 6


Settings = Mapping[str, Any]  # for BlackwellConfig


def narrower(config: "BlackwellConfig") -> "BlackwellConfig":
    """With half of the columns."""
    bM, bN, bK = config.tile
    return replace(config, tile=(bM, bN // 2, bK))


class PartFlaw(FailureKind):
    """What is wrong with a part of the kernel around its loops."""

    NOT_MADE = "not what is asked for"
    SHAPE = "shape"
    GROUP = "blocks of an instruction"
    OPERAND = "operand"
    SOURCE = "tensor memory"
    REGISTERS = "registers of the load"
    ATOM = "columns of a copy"
    THREADS = "threads of a block"
    BYPASSED = "functions that are not the parts"
    COLUMNS = "columns"
    KEPT = "right to allocate kept"
    FREED_LATE = "freed late"


@dataclass(frozen=True, kw_only=True)
class BlackwellPart(Part):
    """A part of notebook 15's kernel, compiled for Blackwell's data-center GPUs and inspected.

    pair: whether two blocks work on a tile together. small: the configurations that are simulated, by shape; where
    there are none, one of tiles half as wide.
    """

    pair: bool = False
    small: tuple[tuple[Shape, Settings], ...] = ()

    @property
    def config(self) -> "BlackwellConfig":
        from tutorlib.kernels.blackwell.config import PAIR, BlackwellConfig

        return PAIR if self.pair else BlackwellConfig()

    def gemm(self, answer: Answer, config: "BlackwellConfig", sms: int) -> HostFunction:
        """The host function around the answer. Raises WrongKind."""
        from tutorlib.kernels.blackwell.gemm import course_parts, make_blackwell_gemm

        return make_blackwell_gemm(config, replace(course_parts(config.pair), **self.parts(answer)), sms)

    def parts(self, answer: Answer) -> dict[str, Any]:
        """The parts that the answer replaces, by name. Raises WrongKind."""
        raise NotImplementedError

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.blackwell.gemm import SMS

        return self.gemm(answer, self.config, SMS)

    def simulated_host(self, answer: Answer) -> HostFunction:
        """On two SMs, so that a small C is several tiles for each block."""
        small = {shape: self.gemm(answer, replace(self.config, **settings), 2) for shape, settings in self.small}
        return host_by_shape(small) if small else self.gemm(answer, narrower(self.config), 2)

    def look_at_memory(self, answer: Answer, points: float) -> Verdict | None:
        """Whether the kernel for narrower tiles allocates fewer columns, and gives up its right in time."""
        specs, narrow = [TensorSpec((256, 256), "bf16")] * 3, narrower(self.config)
        try:
            compiled = compile_cute(self.gemm(answer, narrow, 2 * self.config.width), specs, "sm_100a")
        except CompileFailed:
            return None  # nor does the other kernel compile
        if flaw := find_other_columns(compiled.ptx, narrow):
            return Verdict(points - 1, (f"in a tile of {narrow.tile[1]} columns:", flaw))
        gives_up, works = (compiled.ptx.find(f"tcgen05.{name}") for name in ("relinquish_alloc_permit", "mma."))
        if gives_up > works:
            what = "it keeps its right to allocate while it works: relinquish_tmem_alloc_permit() comes after the work."
            return Verdict(points - 1, (Flaw(what, PartFlaw.KEPT),))
        return None

    def lacks(self, compiled: Compiled) -> str:
        return find_other_columns(compiled.ptx, self.config)


def find_other_columns(ptx: str, config: "BlackwellConfig") -> str:
    """Whether a kernel allocates, or frees, another number of columns than its configuration takes, or ""."""
    for does, opcode in (("allocates", "alloc"), ("frees", "dealloc")):
        if (got := allocated_columns(ptx, opcode)) != [config.columns]:
            said = " and ".join(map(str, got)) or "no"
            what = f"it {does} {said} columns of tensor memory; its accumulators take {config.columns}."
            return Flaw(what, PartFlaw.COLUMNS)
    return ""


@dataclass(frozen=True, kw_only=True)
class RoleLoops(BlackwellPart):
    """One of the three roles' loops beside the course's other two; or all three, for a pair of blocks."""

    loop: Literal["produce", "multiply", "store", "all"]

    def parts(self, answer: Any) -> dict[str, Any]:
        if self.loop != "all":
            loops = {self.loop: answer}
        elif isinstance(answer, tuple | list) and len(answer) == len(ROLES):
            loops = dict(zip(ROLES, answer, strict=True))
        else:
            raise WrongKind(f"{answer!r} is not three functions, (produce, multiply, store).")
        for loop in loops.values():
            require_jit(loop)
        return loops

    def waste(self, issued: "Sequence[Issued]") -> str | None:
        """An accumulator that stays taken while its last part, which is in registers, is written."""
        opcodes = [one.opcode for one in issued]
        last = max((place for place, opcode in enumerate(opcodes) if opcode.startswith("tcgen05.wait::ld")), default=0)
        after = (opcode for opcode in opcodes[last:] if opcode.startswith(("mbarrier.arrive", "st.shared")))
        if next(after, "").startswith("mbarrier.arrive"):
            return None
        return Flaw(
            "an accumulator is freed after its last part was written. Its values are in registers after the last wait, "
            "so the tensor cores could start the next tile then.",
            PartFlaw.FREED_LATE,
        )


def pair_of_functions(answer: Any, names: str) -> tuple[Any, Any]:
    """Both functions. Raises WrongKind. names: as the exercise has them."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise WrongKind(f"{answer!r} is not two functions, ({names}).")
    first, second = answer
    return need_callable(first), need_callable(second)


@dataclass(frozen=True, kw_only=True)
class TensorMemory(BlackwellPart):
    """Two functions that every warp calls, before and after its work."""

    def simulated_host(self, answer: Answer) -> HostFunction:
        """A quarter of the columns, so that their number in figures is found out."""
        return self.gemm(answer, narrower(narrower(self.config)), 2)

    def parts(self, answer: Answer) -> dict[str, Any]:
        both = pair_of_functions(answer, "allocate, release")
        for one in both:
            require_jit(one)
        return dict(zip(("allocate", "release"), both, strict=True))

    def look(self, answer: Answer, points: float) -> Verdict | None:
        return self.look_at_memory(answer, points)


@dataclass(frozen=True, kw_only=True)
class Umma(BlackwellPart):
    """A function that makes the TiledMma, and one that multiplies a K tile with it. It is simulated with half of a K
    tile's K blocks at a time, so that their number in figures is found out."""

    def simulated_host(self, answer: Answer) -> HostFunction:
        make_umma, issue = pair_of_functions(answer, "make_umma, issue")
        return super().simulated_host((make_umma, in_halves(issue)))

    def parts(self, answer: Answer) -> dict[str, Any]:
        make_umma, issue = pair_of_functions(answer, "make_umma, issue")
        require_jit(issue)

        def looked_at(tile: tuple[int, int, int], pair: bool) -> Any:
            for blocks in (1, 2):  # a function for this kernel alone is found out
                asked = (blocks * tile[0] // (1 + pair), *tile[1:]), blocks == 2
                if flaw := find_wrong_mma(make_umma(*asked), *asked):
                    raise WrongKind(flaw)  # from within the compiler
            return make_umma(tile, pair)

        return {"make_umma": looked_at, "issue": issue}


def in_halves(issue: Callable[..., None]) -> Callable[..., None]:
    """`issue` for the first half of the K blocks, and again for the second."""
    from cutlass import Boolean, cute

    require_jit(issue)

    @cute.jit
    def issue_twice(
        tiled_mma: cute.TiledMma, acc: cute.Tensor, tCrA: cute.Tensor, tCrB: cute.Tensor, first: Boolean
    ) -> None:
        (a0, b0), (a1, b1) = (
            [cute.local_tile(whole, (1, 1, K_BLOCKS // 2), (0, 0, half)) for whole in (tCrA, tCrB)] for half in (0, 1)
        )
        issue(tiled_mma, acc, a0, b0, first)
        issue(tiled_mma, acc, a1, b1, Boolean(False))

    return issue_twice


def find_wrong_mma(got: Any, tile: tuple[int, int, int], pair: bool) -> str:
    """The fault of a TiledMma for this tile, as a sentence, or ""."""
    from cutlass import BFloat16, Float32, cute
    from cutlass.cute.nvgpu import OperandMajorMode, tcgen05

    called = f"make_umma({tile}, {pair})"
    if not isinstance(got, cute.TiledMma) or not isinstance(got.op, tcgen05.MmaF16BF16Op):
        made = f"a TiledMma of {type(got.op).__name__}" if isinstance(got, cute.TiledMma) else f"a {type(got).__name__}"
        what = f"{called} returns {made}: it should be a cute.TiledMma of a tcgen05.MmaF16BF16Op."
        return Flaw(what, PartFlaw.NOT_MADE)
    op, group = got.op, tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE
    if op.cta_group != group:
        what = (
            f"{called} makes an instruction of {op.cta_group}: a {'pair has' if pair else 'block alone has'} {group}."
        )
        return Flaw(what, PartFlaw.GROUP)
    if tuple(op.shape_mnk) != (wanted := (*tile[:2], 16)):
        what = f"{called} makes an instruction of {tuple(op.shape_mnk)}: one instruction takes {wanted} of the tile."
        return Flaw(what, PartFlaw.SHAPE)
    smem, k_major = tcgen05.OperandSource.SMEM, OperandMajorMode.K
    for name, has, right in (
        ("multiplies", op.a_dtype, BFloat16),
        ("accumulates in", op.acc_dtype, Float32),
        ("reads A from", op.a_src, smem),
        ("takes A as major in", op.a_major_mode, k_major),
        ("takes B as major in", op.b_major_mode, k_major),
    ):
        if has != right:
            shown, meant = (getattr(one, "__name__", one) for one in (has, right))
            return Flaw(f"{called} makes an instruction that {name} {shown}; here it is {meant}.", PartFlaw.OPERAND)
    return ""


@dataclass(frozen=True, kw_only=True)
class ReadTensorMemory(BlackwellPart):
    """A function that makes the copy from tensor memory to registers, its source and its target."""

    def parts(self, answer: Answer) -> dict[str, Any]:
        need_callable(answer)

        def looked_at(acc: Any, thread: Any) -> Any:
            got = answer(acc, thread)
            if flaw := find_wrong_copy(got, acc):
                raise WrongKind(flaw)  # from within the compiler
            return got

        return {"make_t2r": looked_at}


def find_wrong_copy(got: Any, acc: Any) -> str:
    """The fault of (t2r, tTtC, tTrC) for accumulators (128, N, accumulators), as a sentence, or ""."""
    from cutlass import Float32, cute
    from cutlass.cute.nvgpu import tcgen05

    if not isinstance(got, tuple | list) or len(got) != 3:
        return Flaw("make_t2r should return three things: t2r, tTtC, tTrC.", PartFlaw.NOT_MADE)
    t2r, tTtC, tTrC = got
    if not isinstance(t2r, cute.TiledCopy) or not all(isinstance(one, cute.Tensor) for one in (tTtC, tTrC)):
        names = ", ".join(type(one).__name__ for one in got)
        what = f"make_t2r returns ({names}): it should be a TiledCopy and two Tensors, (t2r, tTtC, tTrC)."
        return Flaw(what, PartFlaw.NOT_MADE)
    if not isinstance(t2r.op, tcgen05.Ld32x32bOp) or t2r.op.repeat != tcgen05.Repetition.x64:
        what = f"t2r is made of {type(t2r.op).__name__}"
        what += f"(Repetition.x{t2r.op.repeat.value})" if hasattr(t2r.op, "repeat") else ""
        return Flaw(f"{what}: one Ld32x32bOp(Repetition.x64) reads a thread's part of 64 columns.", PartFlaw.ATOM)
    if tTtC.memspace != cute.AddressSpace.tmem:
        return Flaw("tTtC is not in tensor memory: it is `acc`, partitioned by the copy.", PartFlaw.SOURCE)
    _, n, accumulators = (cute.size(acc, mode=[mode]) for mode in range(3))
    if len(tTtC.shape) != 5 or tuple(map(cute.size, tTtC.shape[3:])) != (n // PART, accumulators):
        what = (
            f"tTtC has the shape {tTtC.shape}; it should be (values, 1, 1, parts, accumulators), here with "
            f"{count(n // PART, 'part')} and {count(accumulators, 'accumulator')}."
        )
        return Flaw(what, PartFlaw.SOURCE)
    if tTrC.memspace != cute.AddressSpace.rmem or tTrC.element_type is not Float32:
        what = f"tTrC holds {tTrC.element_type} in {tTrC.memspace}: it should be fp32 registers, make_rmem_tensor."
        return Flaw(what, PartFlaw.REGISTERS)
    if (held := cute.size(tTrC)) != PART:
        what = f"tTrC has {held} registers: a thread holds {PART} of its row, a part's columns."
        return Flaw(what, PartFlaw.REGISTERS)
    if tTrC.shape != ((PART, 1), 1, 1):  # with some other shapes CuTe ends the process
        what = f"tTrC has the shape {tTrC.shape}; partition_D gives a thread (({PART}, 1), 1, 1) of a 128×64 tensor."
        return Flaw(what, PartFlaw.REGISTERS)
    return ""


@contextmanager
def noted_parts(answer: Callable[..., Any]) -> Iterator[list[str]]:
    """The functions of the `Parts` given to the answer's kernels that these have not called so far. Those that a kernel
    has from elsewhere do not count. make_t2r: `steps_in` calls it."""
    from tutorlib.kernels.blackwell.gemm import Parts

    def noting(name: str, part: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            unused[:] = (one for one in unused if one != name)
            return part(*args, **kwargs)

        return call

    def noted(given: Any) -> Any:
        if not isinstance(given, Parts):
            return given
        return replace(given, **{part: noting(part, getattr(given, part)) for part in unused})

    def watched(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return kernel(*map(noted, args), **{name: noted(given) for name, given in kwargs.items()})

        return call

    unused = ["make_t2r", "allocate", "release", *ROLES]
    names = getattr(answer, "__globals__", {})
    kernels = {name: kernel for name, kernel in names.items() if says_it_is_kernel(kernel)}
    names.update({name: watched(kernel) for name, kernel in kernels.items()})
    try:
        yield unused
    finally:
        names.update(kernels)


@dataclass(frozen=True, kw_only=True)
class WholeKernel(BlackwellPart):
    """A function that takes a configuration and a number of SMs and makes the host function."""

    def simulated_host(self, answer: Answer) -> HostFunction:
        """Narrow tiles, and the SMs of two blocks or of two pairs; for a K with a partial tile, still narrower ones,
        and of three: so that a tile or SMs in figures are found out."""
        from cutlass import const_expr, cute

        narrow = narrower(self.config)
        on_two, on_three = (
            self.gemm(answer, config, clusters * self.config.width)
            for config, clusters in ((narrow, 2), (narrower(narrow), 3))
        )

        @cute.jit
        def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
            if const_expr(a.shape[1] % narrow.tile[2] == 0):
                on_two(a, b, c)
            else:
                on_three(a, b, c)

        return gemm

    def gemm(self, answer: Answer, config: "BlackwellConfig", sms: int) -> HostFunction:
        gemm = need_callable(answer)(config, sms)
        require_jit(gemm)
        return gemm

    def look(self, answer: Answer, points: float) -> Verdict | None:
        """Whether its columns and its `parts` are those that it is given."""
        with noted_parts(need_callable(answer)) as unused:
            if found := self.look_at_memory(answer, points):
                return found
        if not unused or "make_t2r" in unused:  # all of its parts, or parts that nothing is known of
            return None
        what = (
            f"the kernel never calls {', '.join(f'parts.{name}' for name in unused)}: it cannot run with other parts, "
            "such as a pair's."
        )
        return Verdict(points - 1, (Flaw(what, PartFlaw.BYPASSED),))

    def lacks(self, compiled: Compiled) -> str:
        if compiled.threads != (wanted := 32 * WARPS):
            what = f"its blocks have {compiled.threads} threads; six warps are {wanted}."
            return Flaw(what, PartFlaw.THREADS)
        return super().lacks(compiled)
