"""Where an instruction stands in the reader's source.

Compilers keep that as .loc lines in the PTX (CuTe with --generate-line-info, nvcc with -lineinfo); for those that keep
it elsewhere a function is passed that knows.
"""

import linecache
from collections.abc import Callable
from functools import cache

from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Kernel, Module

Find = Callable[[Instruction], SourceLine | None]


class Places:
    def __init__(self, kernel: Kernel, find: Find) -> None:
        self.kernel = kernel
        self.of = cache(lambda site: find(kernel.instructions[site]))

    def show(self, site: int) -> str:
        return str(self.of(site) or f"line {self.kernel.instructions[site].line} of the PTX")


def by_loc(module: Module, source: str = "") -> Find:
    """What .loc says: the innermost line of the file in which the kernel stands, so that of a library's function which
    was inlined it is the line that called it.

    source: the text of that file, where it does not lie on disk.
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
        shown = text[line - 1] if line <= len(text) else linecache.getline(name, line)
        return SourceLine(name, line, shown.strip(), tuple((name, line) for _, line in callers))

    return find
