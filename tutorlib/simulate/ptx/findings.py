"""Hazards that the simulator finds and a GPU hides, its own exceptions, and where in the reader's source an instruction
stands.

Compilers keep that as .loc lines in the PTX (CuTe with --generate-line-info, nvcc with -lineinfo); for those that keep
it elsewhere a function is passed that knows.
"""

import ast
import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tutorlib.dsl.failure import Fault, Flaw, Hazard
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module


class NotSimulated(NotImplementedError):
    """The simulator lacks something. The message names it and where it stands. found: in the launch until then."""

    found: "tuple[Finding, ...]" = ()

    def __init__(self, what: str, line: int = 0) -> None:
        at = f" (line {line} of the PTX)" if line else ""
        super().__init__(f"{what} is not simulated{at}: this kernel needs a GPU")


class TooManyRecords(NotSimulated):
    """What the simulator would have to remember exceeds its limit. The message says what size to choose."""

    def __init__(self, what: str) -> None:
        NotImplementedError.__init__(self, what)


class CannotLaunch(ValueError):
    """No GPU takes this launch. The message says why, as the end of a sentence."""


class MalformedPtx(ValueError):
    """The text is not the PTX that a compiler writes."""


MBARRIER_BYTES = 8


@dataclass(frozen=True)
class SourceLine:
    """A line of the reader's source, or of the PTX where the compiler kept no line.

    text: of that line, stripped. called_from: the lines that led there, the nearest first, each (file, line).
    """

    file: str
    line: int
    text: str = ""
    called_from: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"line {self.line}" + (f", `{self.text}`" if self.text else "")


@dataclass(frozen=True)
class NamedMemory:
    """A piece of a block's shared memory that the source gives a name. start, size: bytes."""

    name: str
    start: int
    size: int


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a kernel, whose result may be right by luck.

    kind: README.md has a table of them. Two are no faults: "repeat", several blocks that store the same value to one
        place (`Report.repeats`), and "zeros", a box of TMA's that lies outside of its tensor (`Report.zeros`).
    message: one sentence, without the place. place: where in the source; ptx_line: where in the PTX.
    count: how many threads, over all blocks and repetitions. other: the line of the other access, where there are two.
    """

    kind: Hazard
    message: str
    place: SourceLine | None = None
    ptx_line: int = 0
    count: int = 1
    other: SourceLine | None = None

    def __str__(self) -> str:
        at = self.place or (f"line {self.ptx_line} of the PTX" if self.ptx_line else "")
        return f"{self.message} ({at})" if at else self.message

    @property
    def sentence(self) -> Flaw:
        """As it stands in a verdict."""
        return Flaw("") + self.message + str(self).removeprefix(self.message) + "."


Find = Callable[[Instruction], SourceLine | None]


def unknown_place(instruction: Instruction) -> SourceLine | None:
    return None


class Findings:
    """Those of one launch: of one kind, at one line of the source and about one other line, a single one.

    find: where an instruction stands. names: of shared memory. place, show: of an instruction, by its number, where it
    stands, and that as "line 12, `…`".
    """

    def __init__(self, kernel: Kernel, find: Find, names: Sequence[NamedMemory] = ()) -> None:
        self.kernel, self.names = kernel, names
        self.place = cache(lambda site: find(kernel.instructions[site]))
        self.show = cache(lambda site: str(self.place(site) or f"line {kernel.instructions[site].line} of the PTX"))
        self.found: dict[tuple[Hazard, str, object], Finding] = {}

    def of(self, *kinds: Hazard) -> tuple[Finding, ...]:
        """In the order in which they were seen first."""
        return tuple(one for one in self.found.values() if one.kind in kinds)

    def notice(self, fault: Hazard | Fault, site: int, says: str, count: int = 1, apart: object = None) -> None:
        """says: one sentence, of this fault, unless it is a Flaw that tells of others. apart: what else tells two
        findings apart: the number of another instruction, or a word."""
        fault = fault() if isinstance(fault, Hazard) else fault
        kind, other = Hazard(fault.kind), self.place(apart) if isinstance(apart, int) else None
        key = kind, self.show(site), self.show(apart) if isinstance(apart, int) else apart
        if key not in self.found:
            line = self.kernel.instructions[site].line
            told = says if isinstance(says, Flaw) else Flaw(says, fault)
            self.found[key] = Finding(kind, told, self.place(site), line, 0, other)
        self.found[key] = replace(self.found[key], count=self.found[key].count + count)

    def named(self, byte: int) -> NamedMemory | None:
        """The piece of shared memory that has the byte."""
        return next((one for one in self.names if one.start <= byte < one.start + one.size), None)

    def byte(self, byte: int) -> str:
        """ "byte 1,024", or where shared memory has names, "byte 64 of sA"."""
        one = self.named(byte)
        return f"byte {byte - one.start:,} of {one.name}" if one else f"byte {byte:,}"

    def mbarrier(self, byte: int) -> str:
        """ "byte 1,024", or the name of the mbarrier there, "full[2]"."""
        one = self.named(byte)
        if one is None:
            return self.byte(byte)
        return one.name if one.size == MBARRIER_BYTES else f"{one.name}[{(byte - one.start) // MBARRIER_BYTES}]"

    def in_memory(self, byte: int) -> str:
        """ " (sA)", to follow a sentence about the byte, if that has a name."""
        one = self.named(byte)
        return f" ({one.name})" if one else ""

    def never_written(self, who: str, start: int) -> str:
        return f"{who} reads shared memory that was never written ({self.byte(start)})"


# where they are -------------------------------------------------------------------------------------------------------

MOST_LINES = 12  # of one statement
WIDEST = 120  # letters
COMMENT = re.compile(r"\s+(?:#|//).*$")


def quoted(file: str, line: int, lines: Sequence[str] = ()) -> str:
    """The text at a line, stripped; where it opens a bracket, up to the line that closes it.

    lines: of the file, if it is not on disk.
    """
    rest = (lines or linecache.getlines(file))[max(line - 1, 0) : line - 1 + MOST_LINES]
    if not rest:
        return ""
    whole = ""
    for one in rest:
        whole = f"{whole} {COMMENT.sub('', one).strip()}".strip()
        depth = sum(whole.count(bracket) for bracket in "([{") - sum(whole.count(bracket) for bracket in ")]}")
        if depth <= 0:
            break
    if whole == COMMENT.sub("", rest[0]).strip() or depth:
        return rest[0].strip()
    whole = re.sub(r"(?<=[(\[{]) | (?=[)\]}])|,(?= ?[)\]}])", "", whole)
    return whole if len(whole) <= WIDEST else f"{whole[: WIDEST - 1]}…"


def name_made_at(file: str, line: int, column: int | None = None) -> str:
    """The name that the statement at a line assigns to: "a" of `a = torch.ones(4)`, "self.a"; "" if there is none.

    column: where the value begins, of which several are assigned.
    """
    found = [one for one in assignments(file) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not found:
        return ""
    statement = max(found, key=lambda one: one.lineno)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    values = statement.value
    if isinstance(target, ast.Tuple) and isinstance(values, ast.Tuple) and column is not None:
        pairs = zip(target.elts, values.elts, strict=False)
        begun = [to for to, value in pairs if (value.lineno, value.col_offset) <= (line, column)]
        target = begun[-1] if begun else target
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


@cache
def assignments(file: str) -> list[ast.Assign | ast.AnnAssign]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]


def by_loc(module: Module, source: str = "") -> Find:
    """The place in .loc: the innermost line of the kernel's own file. For an inlined library function that is the line
    of its call.

    source: the text of that file, if it is not on disk.
    """
    text = source.splitlines()

    def find(instruction: Instruction) -> SourceLine | None:
        at = instruction.location
        if at is None or at.line == 0:
            return None
        frames = ((at.file, at.line), *at.callers)
        own = frames[-1][0]
        (_, line), *callers = (frame for frame in frames if frame[0] == own)
        name = module.files.get(own, "")
        return SourceLine(name, line, quoted(name, line, text), tuple((name, line) for _, line in callers))

    return find


def in_file(find: Find, file: str, skipped: int = 0) -> Find:
    """`find`, with the file's name where the compiler has its own. skipped: of the file's lines, before what it had."""

    def found(instruction: Instruction) -> SourceLine | None:
        place = find(instruction)
        if place is None:
            return None
        callers = tuple((file, line + skipped) for _, line in place.called_from)
        return replace(place, file=file, line=place.line + skipped, called_from=callers)

    return found
