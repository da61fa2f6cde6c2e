"""Artifacts of an answer that is a kernel. The answer's process traces it; the judge simulates the artifact here, and
`artifact_launch` runs it.

An artifact is plain data: PTX and the launches of a CuTe host function, Tile IR of a cuTile kernel, and lines of their
source. All of it is treated as untrusted: in grading it comes from the student's process. The judge examines, simulates
and launches the same text, and takes no machine code from there: see `compiling.cutile` for the contents of a cubin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Self

from tutorlib.checking import kernel_questions
from tutorlib.checking.served import AnswerQuestion, Served
from tutorlib.compiling.compiled import Compiled, inspect_kernel, instructions_in
from tutorlib.compiling.cutile import compile_tile_ir
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.ptxas import machine_code, resources
from tutorlib.machine import device
from tutorlib.problems.problem import Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Module
from tutorlib.simulate.ptx.places import Find
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.simulation import Launch

UNREADABLE = "its launches cannot be read"
MOST_LAUNCHES = 64  # of one call
MOST_PTX = 2**24  # characters
MOST_TILE_IR = 2**22  # bytes


@dataclass
class Artifact:
    """The compiled form of an answer, requested when it is needed.

    exercise: its id. operands: their number in its problem.
    """

    answer: Served
    exercise: str
    operands: int

    @classmethod
    def of(cls, served: Served, exercise: Any) -> Self:
        """exercise: a KernelExercise."""
        served.take(exercise)
        return cls(served, exercise.id, len(exercise.problem.operands))

    def ask(self, question: AnswerQuestion, *args: Any) -> dict[str, Any]:
        """Raises CompileFailed, also for a malformed reply."""
        reply = self.answer.ask(question, self.exercise, *args)
        if not isinstance(reply, dict) or not is_ptx(reply.get("ptx", ".entry")):
            raise CompileFailed("the compiled kernel cannot be read")
        return reply


@dataclass
class CuteArtifact(Artifact):
    """A @cute.jit host function: `measuring.launchers.CuteLauncher`, as far as an exercise looks at it."""

    def compiled(self, shape: Shape, arch: str) -> Compiled:
        reply = self.ask(kernel_questions.cute_ptx, shape, arch)
        cubin = machine_code(reply["ptx"])
        dynamic_smem = max(int(reply["smem_bytes"]) - resources(cubin)[2], 0)
        return inspect_kernel(arch, reply["ptx"], cubin, dynamic_smem, by_ptxas=True)

    def instructions(self, shape: Shape, arch: str) -> frozenset[str]:
        """Names of `compiled.INSTRUCTIONS`, for which ptxas is not needed."""
        return instructions_in(self.ask(kernel_questions.cute_ptx, shape, arch)["ptx"])

    def launches(self, module: Module, shape: Shape, addresses: Sequence[int], here: bool = False) -> "list[Launch]":
        """The launches of the host function on tensors at these addresses, which it does not access.

        module: its PTX. here: for the GPU at hand; otherwise for the simulator. Raises CompileFailed.
        """
        gpu = (device.need_gpu().arch, device.need_gpu().sms) if here else None
        return launches_of(module, self.ask(kernel_questions.cute_launches, shape, list(addresses), gpu)["launches"])


@dataclass
class CutileArtifact(Artifact):
    """A @ct.kernel: `measuring.launchers.CutileLauncher`, as far as an exercise looks at it."""

    def compiled(self, problem: Any, shape: Shape, arch: str) -> Compiled:
        reply = self.ask(kernel_questions.tile_ir, shape, arch)
        tile_ir, opt_level = reply["tile_ir"], reply["opt_level"]
        if type(tile_ir) is not bytes or len(tile_ir) > MOST_TILE_IR or opt_level not in range(4):
            raise CompileFailed("its Tile IR cannot be read")
        return compile_tile_ir(tile_ir, arch, int(opt_level))


@dataclass
class SimulatedCuteArtifact:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call's launches. budget: of each."""

    kernel: CuteArtifact
    budget: float = inf
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return str(self.kernel.ask(kernel_questions.cute_with_lines, shape)["ptx"])

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cute_host import simulate_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        reply = self.kernel.ask(kernel_questions.cute_with_lines, work.shape)
        module = parse_ptx(reply["ptx"])
        find = finder_in(module, str(reply["marks"]), reply["lines"])

        def call() -> None:
            launches = self.kernel.launches(module, work.shape, [one.data_ptr() for one in work.named.values()])
            self.reports = simulate_launches(work.named, launches, find, self.traced, self.budget)

        return call


@dataclass
class SimulatedCutileArtifact:
    """A launcher (`problems.work.Launcher`) that simulates. reports: of the last call."""

    kernel: CutileArtifact
    grid: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return self.kernel.compiled(None, shape, ARCH).ptx

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cutile import ARCH, launch
        from tutorlib.simulate.ptx.languages.line_table import by_cubin

        compiled = self.kernel.compiled(work.problem, work.shape, ARCH)
        source = self.kernel.ask(kernel_questions.source)
        find = by_cubin(compiled.cubin, str(source["file"]), [str(line) for line in source["lines"]])

        def call() -> None:
            self.reports = [launch(compiled, find, self.grid(work.shape), work.named, self.traced)]

        return call


@dataclass
class InterpretedArtifact:
    """A launcher (`problems.work.Launcher`) that lets the answer's process interpret the kernel, on inputs that the
    process cannot foresee, and accepts the result.
    """

    kernel: CutileArtifact
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return ""

    def on(self, work: Work) -> Call:
        *_, output = work.problem.operands

        def call() -> None:
            *inputs, result = work.tensors
            clones = [tensor.clone() for tensor in inputs]
            got = self.kernel.ask(kernel_questions.interpreted, work.shape, clones)["result"]
            if type(got) is not type(result) or (got.shape, got.dtype) != (result.shape, result.dtype):
                raise CompileFailed(f"{output.name} cannot be read")
            result.copy_(got)

        return call


def is_ptx(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= MOST_PTX and ".entry" in text


def finder_in(module: Module, marks: str, lines: dict[int, Any]) -> Find:
    """An instruction's line in the reader's source. marks: the file whose line numbers are keys of `lines`."""
    known = {
        number: SourceLine(str(file), int(line), str(text), tuple((str(f), int(n)) for f, n in callers))
        for number, (file, line, text, callers) in lines.items()
    }

    def find(instruction: Instruction) -> SourceLine | None:
        at = instruction.location
        return known.get(at.line) if at is not None and module.files.get(at.file) == marks else None

    return find


def launches_of(module: Module, told: Any) -> "list[Launch]":
    """The host function's launches. Raises CompileFailed if the data is malformed."""
    try:
        return [read_launch(module, *one) for one in told[:MOST_LAUNCHES]]
    except (TypeError, ValueError) as error:
        raise CompileFailed(UNREADABLE) from error


def read_launch(
    module: Module, kernel: Any, grid: Any, block: Any, smem: Any, parameters: Any, cluster: Any, *flags: Any
) -> "Launch":
    """One launch. Raises TypeError and ValueError if the data is malformed."""
    from tutorlib.simulate.ptx.simulation import Launch

    sizes = [*grid, *block, *cluster, smem]
    if (
        [len(dims) for dims in (grid, block, cluster, flags)] != [3, 3, 3, 2]
        or not all(type(n) is int and 0 <= n < 2**31 for n in sizes)
        or not all(type(flag) is bool for flag in flags)
        or type(parameters) is not bytes
        or kernel not in module.kernels
        or len(parameters) != module.kernels[kernel].parameter_bytes
    ):
        raise ValueError("no launch")
    cooperative, overlapping = flags
    where = {"grid": tuple(grid), "block": tuple(block), "cluster": tuple(cluster), "dynamic_smem": smem}
    flagged = {"cooperative": cooperative, "overlapping": overlapping}
    return Launch(module, module.kernels[kernel], parameters=parameters, **where, **flagged)
