"""cuTile kernels, compiled for sm_80 and simulated. Line tables of the cubin name an instruction's source line."""

import linecache
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.programs import listing_of
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.functions import function_of
from tutorlib.simulate.ptx.findings import Find, SourceLine, quoted
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.launch import run
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor


ARCH = "sm_80"  # later targets use TMA and warp-group instructions


def simulate_cutile(
    kernel: Any, grid: Sequence[int], tensors: "Mapping[str, Tensor]", constants: Sequence[Any]
) -> Report:
    """Launch a @ct.kernel on contiguous tensors in ordinary memory, by name, followed by constants.

    Raises CompileFailed, and what `run` raises.
    """
    compiled = compile_cutile(kernel, [*map(TensorSpec.like, tensors.values()), *constants], ARCH)
    return launch(compiled, finder(kernel, compiled), grid, tensors)


def launch(compiled: Compiled, find: Find, grid: Sequence[int], tensors: "Mapping[str, Tensor | float]") -> Report:
    """tensors: by name, in the order of the kernel's parameters; numbers among them, where it takes some."""
    arguments: dict[str, Any] = {}
    for name, tensor in tensors.items():
        arguments[name] = tensor
        if isinstance(tensor, int | float):
            continue
        arguments |= {f"{name}.shape[{n}]": size for n, size in enumerate(tensor.shape)}
        arguments |= {f"{name}.stride[{n}]": stride for n, stride in enumerate(tensor.stride())}
    # What hangs over an edge stays in registers that were never set, and is masked where it leaves the block.
    return run(compiled.ptx, grid, (), arguments, find=lambda module: find, follow_unset=False)


def finder(kernel: Any, compiled: Compiled) -> Find:
    function = function_of(kernel)
    file = function.__code__.co_filename  # a notebook's cell has one, too
    return by_cubin(compiled.cubin, file, linecache.getlines(file))


MOST_LINES = 5  # of one instruction: mma.sync and its four operands
PTX_TEXT = ".nv_debug_ptx_txt"  # the name that the line table gives the PTX
FRAME = r'\s*//## File "(.*?)", line (\d+).*\n'  # above an instruction: its line, then those that called it


@lru_cache(maxsize=64)
def lines_of(cubin: bytes) -> dict[int, tuple[tuple[str, int], ...]]:
    """By line of the PTX: file and line of its first machine instruction, and of the calls that were inlined.

    Raises ToolMissing.
    """
    found: dict[int, tuple[tuple[str, int], ...]] = {}
    ptx_line, frames = 0, tuple[tuple[str, int], ...]()
    for block in re.findall(rf"(?:{FRAME.replace('(', '(?:')})+", listing_of(cubin, "-gi", "-gp")):
        places = [(file, int(line)) for file, line in re.findall(FRAME, block)]
        ptx_line = next((line for file, line in places if file == PTX_TEXT), ptx_line)
        frames = tuple(place for place in places if place[0] != PTX_TEXT) or frames
        found.setdefault(ptx_line, frames)
    return found


def by_cubin(cubin: bytes, source: str, text: list[str]) -> Find:
    """From an instruction's line in the PTX, through its machine code, to the reader's line.

    source: the end of the file name that is the reader's. text: its lines.
    """

    def find(instruction: Instruction) -> SourceLine | None:
        """An instruction over several lines counts as one of them."""
        for n in range(MOST_LINES):
            for file, line in lines_of(cubin).get(instruction.line + n, ()):
                if file.endswith(source) and 0 < line <= len(text):
                    return SourceLine(file, line, quoted(file, line, text))
        return None

    return find
