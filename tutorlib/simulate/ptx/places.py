"""An instruction's line in the reader's source, and its text.

Compilers keep that as .loc lines in the PTX (CuTe with --generate-line-info, nvcc with -lineinfo); for those that keep
it elsewhere a function is passed that knows.
"""

import ast
import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module

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
        target = next(
            (to for to, value in pairs if (value.lineno, value.col_offset) <= (line, column) < end_of(value)), target
        )
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def end_of(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


@cache
def assignments(file: str) -> list[ast.Assign | ast.AnnAssign]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]


Find = Callable[[Instruction], SourceLine | None]


def unknown_place(instruction: Instruction) -> SourceLine | None:
    return None


class Places:
    def __init__(self, kernel: Kernel, find: Find) -> None:
        self.kernel = kernel
        self.of = cache(lambda site: find(kernel.instructions[site]))

    def show(self, site: int) -> str:
        return str(self.of(site) or f"line {self.kernel.instructions[site].line} of the PTX")


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
