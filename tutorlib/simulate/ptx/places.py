"""An instruction's line in the reader's source.

Compilers keep that as .loc lines in the PTX (CuTe with --generate-line-info, nvcc with -lineinfo); for those that keep
it elsewhere a function is passed that knows.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module
from tutorlib.simulate.quotes import quoted

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
