"""The tensors of one call, launchers that make calls on them, and checked calls with all of their faults."""

import math
import re
import textwrap
import time
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Literal, Protocol

from tutorlib.compiling.spec import DTYPES
from tutorlib.problems.differences import count
from tutorlib.problems.problem import Operand, Problem, Shape, torch_dtype
from tutorlib.simulate.tensors import POISON

if TYPE_CHECKING:
    from torch import Generator, Tensor

RESTART = "The CUDA context is broken: restart the kernel (Kernel → Restart Kernel) and run the page again."

NOT_LAUNCHED = "it could not be launched: "
# The driver's name of an error → its meaning to the reader.
MEANING = {
    "illegal memory access": "it read or wrote outside its tensors (illegal memory access).",
    "misaligned address": "it used an address that the access's width does not divide (misaligned address).",
    "illegal instruction": "it ran an instruction that this GPU does not have (illegal instruction).",
    "unspecified launch failure": "it crashed (unspecified launch failure).",
    "device-side assert": "an assertion in it failed.",
    "too many resources": "a block asks for more registers than an SM has.",
    "out of memory": "the GPU has too little free memory for this check. Does another program use it?",
}

_endless: list[Callable[[], None]] = []  # kept forever: freeing a kernel that still runs would wait for its end
_broken = False  # this process's CUDA context is beyond repair: only a new process has a new one


class KernelFault(Exception):
    """The kernel crashed, hung or could not be launched. One line, and one more where its cause is known."""

    def __init__(self, message: str, status: Literal["failed", "error", "timeout"] = "error") -> None:
        super().__init__(message)
        self.status = status


def context_broken() -> bool:
    """Whether an earlier kernel left this process's CUDA context unusable."""
    global _broken
    if not _broken:
        import torch

        try:
            torch.cuda.synchronize()
        except RuntimeError:  # torch.AcceleratorError: an error that stays
            _broken = True
    return _broken


def guarded(run: Callable[[], None], seconds: float) -> None:
    """Call `run`, which puts work on the GPU, and wait for all of it. Raises KernelFault.

    seconds: how long the GPU may take. A kernel that runs on cannot be stopped, so the context counts as broken then.
    """
    global _broken
    import torch

    done = torch.cuda.Event()
    try:
        run()
        done.record()
        deadline = time.monotonic() + seconds
        while not done.query():
            if time.monotonic() > deadline:
                _broken = True
                _endless.append(run)
                raise KernelFault(
                    f"it is still running after {seconds:g} s: does a loop never end? {RESTART}", "timeout"
                )
            time.sleep(0.0002)
        torch.cuda.synchronize()  # work on other streams, too
    except (KernelFault, NotImplementedError):
        raise
    except Exception as error:
        raise fault(error) from error


def fault(error: Exception) -> KernelFault:
    """The error of a launch or of the GPU in one line, and whether the context survived it."""
    text = textwrap.shorten(re.sub(r"\x1b\[[\d;]*m", "", str(error)), 200, placeholder=" …")
    meaning = next((says for name, says in MEANING.items() if name in text.lower()), "")
    if context_broken():
        return KernelFault(f"{meaning or text} {RESTART}")
    if "out of memory" in text.lower():
        return KernelFault(meaning)
    return KernelFault(meaning or NOT_LAUNCHED + text, "failed")


# The output, which belongs to the checker -----------------------------------------------------------------------------

GUARD = 2**20  # bytes of each band: it catches a whole tile past the end


class Output:
    """Memory for one output and its guard bands, every element poisoned.

    memory: all of it, viewed as integers of the same width.
    """

    def __init__(self, operand: Operand, shape: Shape, device: str) -> None:
        import torch

        width = DTYPES[operand.dtype].bytes
        self.operand, self.shape, self.dtype = operand, shape, torch_dtype(operand.dtype)
        self.poison_bits = POISON[width]
        self.band = GUARD // width
        integers = {2: torch.int16, 4: torch.int32}[width]
        self.memory = torch.empty(2 * self.band + math.prod(shape), dtype=integers, device=device)
        self.poison()

    @property
    def tensor(self) -> "Tensor":
        """The kernel's argument: compact, of the operand's dtype, in its order."""
        return self.in_order(self.memory[self.band : -self.band].view(self.dtype))

    @property
    def seen(self) -> "tuple[Tensor, Tensor]":
        """The values, and a mask of those that are still poison."""
        unwritten = self.memory[self.band : -self.band] == self.poison_bits
        return self.tensor, self.in_order(unwritten)

    def in_order(self, flat: "Tensor") -> "Tensor":
        return flat.view(self.shape[::-1]).mT if self.operand.column_major else flat.view(self.shape)

    def poison(self) -> None:
        self.memory.fill_(self.poison_bits)

    def copied(self) -> "Output":
        """A copy, made on the current stream."""
        made = copy(self)
        made.memory = self.memory.clone()
        return made

    def overrun(self) -> str | None:
        """A sentence about writes outside the output, or None if both guard bands are untouched."""
        touched = self.memory != self.poison_bits
        before = touched[: self.band].flip(0).nonzero()[:, 0] + 1  # distances from the output
        after = touched[-self.band :].nonzero()[:, 0] + 1
        if len(after):
            return f"{count(len(after), 'element')} after its end, the first {int(after[0])} past the last one"
        if len(before):
            return (
                f"{count(len(before), 'element')} before its start, the nearest {int(before[0])} before the first one"
            )
        return None


# Calls ----------------------------------------------------------------------------------------------------------------

Call = Callable[[], None]  # queues the work of one call on the current stream

DEVICE = "cuda"
TIME_LIMIT_S = 10.0  # for one call of a kernel


def new_generator() -> "Generator":
    """A generator on the GPU with a secret seed."""
    import torch

    generator = torch.Generator(DEVICE)
    generator.seed()
    return generator


class Work:
    """The tensors of one call: inputs, at first identity and ramp, and an output that belongs to the checker."""

    def __init__(self, problem: Problem, shape: Shape, device: str = "") -> None:
        """device: of the tensors; "" for the GPU."""
        self.problem, self.shape = problem, shape
        self.inputs = problem.pattern(shape, device or DEVICE)
        self.output = Output(problem.output, problem.shape_of(problem.output, shape), device or DEVICE)

    @property
    def tensors(self) -> "tuple[Tensor, ...]":
        return (*self.inputs, self.output.tensor)

    @property
    def named(self) -> "dict[str, Tensor]":
        """The tensors by their names in the problem."""
        return dict(zip((operand.name for operand in self.problem.operands), self.tensors, strict=True))

    def refill(self, generator: "Generator") -> None:
        """New random inputs in the same memory."""
        for old, new in zip(self.inputs, self.problem.random(self.shape, generator), strict=True):
            old.copy_(new)

    def checksums(self) -> tuple[int, ...]:
        """A sum over the bits of each input that a kernel may not change."""
        import torch

        kept = [x for op, x in zip(self.problem.inputs, self.inputs, strict=True) if not op.scratch]
        integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}
        return tuple(int(x.view(integers[x.element_size()]).sum(dtype=torch.int64)) for x in kept)

    def expected(self) -> "tuple[Tensor, Tensor]":
        return self.problem.expected(self.inputs, self.shape)


class Launcher(Protocol):
    """A kernel for the GPU at hand, in whatever language: CuTe, cuTile, Tile C++, or torch in a test."""

    def on(self, work: Work) -> Call:
        """A call of the kernel on these tensors, compiled. Raises CompileFailed."""
        ...


def call_in_order(call: Call, output: Output) -> Output:
    """Poison the output, call, and copy the output, all queued on the current stream. Raises KernelFault."""
    left: list[Output] = []
    output.copied()  # allocate memory and load the copying kernels now: later that would wait for running kernels

    def run() -> None:
        output.poison()
        call()
        left.append(output.copied())

    guarded(run, TIME_LIMIT_S)
    return left[0]
