"""How answers of page 15 alone are judged: the part of its room that the sandbox shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.part import HostFunction, Part, host_by_shape, need_callable, require_jit
from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.ptx import allocated_columns
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.blackwell.config import BlackwellConfig
    from tutorlib.simulate.ptx.report import Issued


# Judges the parts of the Blackwell kernel, and the kernel that the reader makes of them.

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

    THREADS = "threads of a block"
    COLUMNS = "columns"
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
        return {"make_umma": make_umma, "issue": issue}


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


@dataclass(frozen=True, kw_only=True)
class ReadTensorMemory(BlackwellPart):
    """A function that makes the copy from tensor memory to registers, its source and its target."""

    def parts(self, answer: Answer) -> dict[str, Any]:
        return {"make_t2r": need_callable(answer)}


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

    def lacks(self, compiled: Compiled) -> str:
        if compiled.threads != (wanted := 32 * WARPS):
            what = f"its blocks have {compiled.threads} threads; six warps are {wanted}."
            return Flaw(what, PartFlaw.THREADS)
        return super().lacks(compiled)
