"""CuTe kernels compiled with the reader's lines kept, all the way up: a helper's line and the lines that called it.

CuTe's own line information names the line that called the DSL, which for a helper lies in the helper. While a host
function is traced each operation's place is replaced by a number: that of the Python call stack at that moment.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from tutorlib.compiling.dsls import compile_cute
from tutorlib.compiling.errors import is_readers
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.functions import is_of_the_dsl
from tutorlib.dsl.tracing import SharedPiece, locations, no_abort
from tutorlib.simulate.ptx.findings import NamedMemory, SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Module
from tutorlib.simulate.ptx.places import Find, name_made_at, quoted

STACKS = "the Python call stacks"  # stands for a file in the line information

Frame = tuple[str, int]  # file, line


@dataclass
class Stacks:
    """stacks: each once, the innermost frame first; in the line information stack n has the line n + 1.

    shared: the pieces of each kernel's shared memory.
    """

    stacks: dict[tuple[Frame, ...], int] = field(default_factory=dict)
    shared: dict[str, list[NamedMemory]] = field(default_factory=dict)

    def number(self) -> int:
        """The lines of the current stack, without the DSL's frames and those below the compilation."""
        stack = tuple(frames_of_the_kernel(sys._getframe(2)))
        return self.stacks.setdefault(stack, len(self.stacks) + 1)

    def note_shared(self, kernel: str, piece: SharedPiece) -> None:
        """A kernel allocates shared memory on the current lines: its name is that which the source gives it there."""
        stack = frames_of_the_kernel(sys._getframe(2))
        name = next(filter(None, (name_made_at(file, line) for file, line in stack)), "shared memory")
        made = [NamedMemory(f"{name}.{field}", piece.start + start, size) for field, size, start in piece.fields]
        self.shared.setdefault(kernel, []).extend(made or [NamedMemory(name, piece.start, piece.size)])

    def finder(self, module: Module) -> Find:
        by_number = {number: stack for stack, number in self.stacks.items()}

        def find(instruction: Instruction) -> SourceLine | None:
            at = instruction.location
            if at is None or module.files.get(at.file) != STACKS or at.line not in by_number:
                return None
            return place_of(by_number[at.line])

        return find


class Origins(dict[str, str]):
    """Whose a file of code is: "kernel", "dsl" or neither; "here" for this module, where compilations begin."""

    def __missing__(self, file: str) -> str:
        own = "" if file.startswith("<") else "kernel"
        self[file] = "here" if file == __file__ else "dsl" if is_of_the_dsl(file) else own
        return self[file]


ORIGINS = Origins()
# The functions that the DSL makes of the bodies of a kernel's loops and branches
CONTROL_FLOW = re.compile(
    r"(?:loop_body|(?:el)?if_region|while_region|(?:ifexp_)?(?:then|else)_block)_\d+|while_\w+_block"
)


def frames_of_the_kernel(frame: FrameType | None) -> list[Frame]:
    """Its frames in this one and those that called it, up to what began the compilation.

    Of a body of a loop or a branch, which is a function to the DSL, the call is none.
    """
    frames, of_the_kernel, in_body = list[Frame](), 0, False
    while frame is not None and (origin := ORIGINS[frame.f_code.co_filename]) != "here":
        if origin == "dsl":
            of_the_kernel = len(frames)
        elif origin == "kernel":
            if not in_body:
                frames.append((frame.f_code.co_filename, frame.f_lineno))
            in_body = bool(CONTROL_FLOW.fullmatch(frame.f_code.co_name))
        frame = frame.f_back
    return frames[:of_the_kernel]


def place_of(stack: Sequence[Frame]) -> SourceLine | None:
    """The innermost of the reader's lines, or where there is none, the innermost of all; and what called it."""
    if not stack:
        return None
    at = next((n for n, (file, _) in enumerate(stack) if is_readers(file)), 0)
    (file, line), rest = stack[at], stack[at + 1 :]
    return SourceLine(file, line, quoted(file, line), tuple(rest))


@dataclass(frozen=True)
class Traced:
    """A compiled host function. ptx: of its kernels. stacks: what the lines in it mean."""

    function: Any
    ptx: str = field(repr=False)
    stacks: Stacks = field(repr=False)


def compile_with_lines(host: Callable[..., None], specs: Sequence[TensorSpec], arch: str = "sm_80") -> Traced:
    """Compile a @cute.jit host function for tensors of these specs. Raises as compile_cute does."""
    try:
        return compile_for(host, [spec.fake() for spec in specs], arch)
    except Exception:
        compile_cute(host, specs, arch)  # raises it again, as a sentence
        raise


def compile_for(host: Callable[..., None], arguments: Sequence[Any], arch: str = "sm_80", **named: Any) -> Traced:
    """Compile a @cute.jit host function, or an object that can be called as one, for such arguments.

    Its machine code is not for use: ptxas does not optimize it.
    """
    from cutlass import cute

    stacks = Stacks()
    with tempfile.TemporaryDirectory() as folder, locations(STACKS, stacks.number), no_abort():
        options = f"--gpu-arch {arch} --keep-ptx --dump-dir {folder} --generate-line-info --ptxas-options=-O1"
        built = cute.compile(host, *arguments, **named, options=options)
    return Traced(built, built.__ptx__, stacks)
