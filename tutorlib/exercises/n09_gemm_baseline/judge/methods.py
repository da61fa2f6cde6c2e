"""Answers that become methods of the kernel: called with stand-ins for tensors, then compiled and simulated."""

from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from tutorlib.checking.ampere_loop import AmperePart, PartName
from tutorlib.checking.exercise import Answer, Verdict
from tutorlib.checking.kernel_questions import NotRehearsed
from tutorlib.checking.part import HostFunction, need_callable
from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsed import first_weakness
from tutorlib.checking.rehearsing.call_site import CallSite, calling_line
from tutorlib.checking.rehearsing.instruction_sets import without_compiler
from tutorlib.checking.rehearsing.unsafe import Unsafe
from tutorlib.failure import FailureKind
from tutorlib.kernels.ampere.config import GemmConfig

TWO_BUFFERS = GemmConfig(stages=2)
BLOCKS = ((1, 0), (2, 1))  # K block and buffer
RECORDED = {
    "cutlass.cute": {"copy": "copy", "gemm": "gemm", "make_fragment_like": "fragment", "make_rmem_tensor": "fragment"}
}


class MoveFlaw(FailureKind):
    """Faults of a fetch or of a multiplication."""

    MISSING = "an operand is missing"
    VIEW = "the other view of the registers"
    OTHER = "another part of a tensor"
    OPERANDS = "operands exchanged"
    ACCUMULATORS = "not the accumulators"


@dataclass(frozen=True, kw_only=True)
class Method(AmperePart):
    """A method of the kernel's classes, in a kernel with two buffers that fetches one K block ahead.

    name: of the class among the kernel's parts.
    """

    name: PartName = "steps"
    method: Literal["load", "fetch", "multiply"]
    config: GemmConfig = TWO_BUFFERS

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.ampere.gemm import make_gemm
        from tutorlib.kernels.ampere.main_loops import multistage
        from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps

        base = {"copies": GlobalToShared, "steps": Steps}[self.name]
        own = type(base.__name__, (base,), {self.method: need_callable(answer)})
        return make_gemm(self.config, multistage, **{self.name: own})

    def look(self, answer: Answer, points: float) -> Verdict | None:
        need_callable(answer)
        calls = {
            "load": {},
            "fetch": {
                f"fetch(steps, {block}, {buffer})": partial(fetched, answer, block, buffer) for block, buffer in BLOCKS
            },
            "multiply": {f"multiply(steps, {block})": partial(multiplied, answer, block) for block, _ in BLOCKS},
        }
        return first_weakness(calls[self.method].items())


@dataclass(frozen=True)
class View:
    """Stands in for a tensor: its name, and the number that was picked of each mode; None for a whole mode."""

    name: str
    picked: tuple[int | None, ...]

    def __getitem__(self, index: tuple[int | None, ...]) -> "View":
        free = [mode for mode, one in enumerate(self.picked) if one is None]
        picked = list(self.picked)
        for mode, one in zip(free, index, strict=True):
            picked[mode] = None if one is None else int(one)
        return View(self.name, tuple(picked))

    def fill(self, value: float) -> None:
        """As of registers."""

    def __str__(self) -> str:
        whole = all(one is None for one in self.picked)
        return self.name if whole else f"{self.name}[{', '.join(map(str, self.picked))}]"


ACCUMULATORS = View("tCrC", (None,) * 3)


class Copy(NamedTuple):
    """A cute.copy: its line, the name of its TiledCopy, its tensors."""

    line: CallSite
    tiled_copy: str
    source: View
    target: View


class Product(NamedTuple):
    """A cute.gemm: its line, and the tensors of D = A·B + C."""

    line: CallSite
    d: View
    a: View
    b: View
    c: View


@dataclass
class Recorder:
    """Records the copies and products that a method issues."""

    copies: list[Copy] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)

    def fragment(self, *like: Any) -> View:
        return View("a tensor of new registers", (None,) * 3)

    def copy(self, atom: str, src: View, dst: View) -> None:
        self.copies.append(Copy(calling_line(), atom, src, dst))

    def gemm(self, atom: str, d: View, a: View, b: View, c: View) -> None:
        self.products.append(Product(calling_line(), d, a, b, c))


def called(answer: Answer, *numbers: int) -> Recorder:
    """The answer, called with stand-ins. Raises NotRehearsed where it does something other than copy or multiply."""
    operands = {
        f"r{x}": SimpleNamespace(
            tCrX=View(f"r{x}.tCrX", (None,) * 3),
            s2r=f"r{x}.s2r",
            tXsX=View(f"r{x}.tXsX", (None,) * 4),
            tXrX=View(f"r{x}.tXrX", (None,) * 3),
        )
        for x in "AB"
    }
    steps = SimpleNamespace(**operands, tiled_mma="tiled_mma", tCrC=ACCUMULATORS)
    recorder = Recorder()
    with without_compiler(recorder, RECORDED, answer):
        as_written(answer)(steps, *numbers)
    return recorder


def fetched(answer: Answer, block: int, buffer: int) -> str:
    """Raises Unsafe for a wrong fetch, NotRehearsed for one that only a simulation can judge."""
    copies = called(answer, block, buffer).copies
    for x in "AB":
        tiled_copy, source, target = f"r{x}.s2r", of(f"r{x}.tXsX", block, buffer), of(f"r{x}.tXrX", block)
        mine = [one for one in copies if any(view.name.startswith(f"r{x}.") for view in (one.source, one.target))]
        if not mine:
            raise Unsafe(f"it copies nothing for {x}: each operand takes a cute.copy of its own.", MoveFlaw.MISSING)
        for line, used, of_source, to in mine:
            if to.name == f"r{x}.tCrX":
                what = f"{line}: {to} is the mma's view of the registers; {tiled_copy} fills its own view, tXrX."
                raise Unsafe(what, MoveFlaw.VIEW)
            if used != tiled_copy:
                raise Unsafe(f"{line}: {used} copies {of_source}; it takes {tiled_copy}.", MoveFlaw.OPERANDS)
            if (of_source.name, to.name) != (source.name, target.name):
                what = f"{line}: it copies {of_source} to {to}; ldmatrix copies {source.name} to {target.name}."
                raise Unsafe(what, MoveFlaw.OPERANDS)
        if len(mine) > 1:
            raise NotRehearsed(f"it issues {len(mine)} copies for {x}")
        if (found := mine[0])[2:] != (source, target):
            what = f"{found.line}: it copies {found.source} to {found.target}; asked for is {source}, to {target}."
            raise Unsafe(what, MoveFlaw.OTHER)
    return ""


def multiplied(answer: Answer, block: int) -> str:
    """Raises Unsafe for a wrong product, NotRehearsed for one that only a simulation can judge."""
    products = called(answer, block).products
    if not products:
        raise Unsafe("it multiplies nothing: cute.gemm issues the mma.sync.", MoveFlaw.MISSING)
    if len(products) > 1:
        raise NotRehearsed(f"it issues {len(products)} products")
    line, d, a, b, c = products[0]
    if d != ACCUMULATORS:
        raise Unsafe(f"{line}: D, the second argument, is {d}; the accumulators are tCrC.", MoveFlaw.ACCUMULATORS)
    if c != ACCUMULATORS:
        what = f"{line}: C, the last argument, is {c}; D = A·B + C adds to the accumulators where C is tCrC, too."
        raise Unsafe(what, MoveFlaw.ACCUMULATORS)
    for x, got in (("A", a), ("B", b)):
        wanted = of(f"r{x}.tCrX", block)
        if got.name == f"r{x}.tXrX":
            raise Unsafe(f"{line}: {x} is {got}, ldmatrix's view of the registers; the mma's is tCrX.", MoveFlaw.VIEW)
        if got.name != wanted.name:
            raise Unsafe(f"{line}: {x} is {got}; it should be {wanted}.", MoveFlaw.OPERANDS)
        if got != wanted:
            raise Unsafe(f"{line}: {x} is {got}; asked for is K block {block}, {wanted}.", MoveFlaw.OTHER)
    return ""


def of(name: str, *numbers: int) -> View:
    """A K block, of a buffer, in whole modes of values and of atoms."""
    return View(name, (None, None, *numbers))
