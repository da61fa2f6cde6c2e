"""Launchers (`problems.work.Launcher`) of what the evidence of an answer has: simulated, or on the GPU at hand.

Inputs, outputs, references, stream and clock are the judge's own.
"""

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from tutorlib.checking.evidence import (
    CuteCode,
    CuteEvidence,
    CutileEvidence,
    HostEvidence,
    RecordedLaunch,
    relocated,
    used,
)
from tutorlib.checking.launch_plan import MOST_LAUNCHES, NO_LAUNCHES, LaunchPlan, Placed, Planned, TileIr
from tutorlib.compiling.compiled import Compiled, LaunchConfig, LaunchGrid, inspect_kernel
from tutorlib.compiling.dsls import compile_tile_ir, entries_of
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import machine_code, resources
from tutorlib.compiling.spec import DTYPES
from tutorlib.machine import device
from tutorlib.measuring.driver import load_function, prepare
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx import descriptors
from tutorlib.simulate.ptx.findings import SourceLine
from tutorlib.simulate.ptx.ir import Instruction, Module
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.places import Find
from tutorlib.simulate.ptx.report import Report

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.simulate.ptx.simulation import Launch

FORMS = {"ptr": "Q", "u32": "i"}  # as struct packs them


# CuTe ----------------------------------------------------------------------------------------------------------------


def compiled_cute(code: CuteCode, arch: str) -> Compiled:
    """The code as machine code, and what it takes. Raises CompileFailed."""
    cubin = machine_code(code.ptx)
    dynamic_smem = max(int(code.smem_bytes) - resources(cubin)[2], 0)
    return inspect_kernel(arch, code.ptx, cubin, dynamic_smem, by_ptxas=True)


def sizes_of(problem: Problem, shape: Shape) -> list[int]:
    """The bytes of each of its tensors."""
    return [math.prod(problem.shape_of(op, shape)) * DTYPES[op.dtype].bytes for op in problem.operands]


def launches_of(code: CuteCode, module: Module) -> "list[Launch]":
    """The host function's launches, at made-up addresses. Raises CompileFailed where they cannot be launches."""
    try:
        return [launch_of(one, module) for one in code.launches[:MOST_LAUNCHES]]
    except (AttributeError, TypeError, ValueError) as error:
        raise CompileFailed(NO_LAUNCHES) from error


def launch_of(one: RecordedLaunch, module: Module) -> "Launch":
    """Raises AttributeError, TypeError and ValueError where it cannot be one."""
    from tutorlib.simulate.ptx.launch import three
    from tutorlib.simulate.ptx.simulation import Launch

    kernel = module.kernels.get(one.kernel)
    dims, flags = (one.grid, one.block, one.cluster), (one.cooperative, one.overlapping)
    if (
        kernel is None
        or type(one.parameters) is not bytes
        or len(one.parameters) != kernel.parameter_bytes
        or [len(sizes) for sizes in dims] != [3, 3, 3]
        or not all(type(n) is int and 0 <= n < 2**31 for sizes in (*dims, (one.dynamic_smem,)) for n in sizes)
        or not all(type(flag) is bool for flag in flags)
    ):
        raise ValueError("no launch")
    grid, block, cluster = map(three, dims)
    launch = Launch(module, kernel, grid, block, one.dynamic_smem, one.parameters, cluster=cluster)
    return replace(launch, cooperative=one.cooperative, overlapping=one.overlapping)


def parameters_for(launch: "Launch", tensors: "Sequence[Tensor]", sizes: Sequence[int]) -> bytes:
    """A recorded launch's parameters for these tensors. Raises CompileFailed where it has a pointer elsewhere."""
    raw = bytearray(launch.parameters)
    placed = dict(relocated(launch.parameters, [tensor.data_ptr() for tensor in tensors], sizes))
    for parameter in launch.kernel.parameters:
        if parameter.kind == "b8" and parameter.size == descriptors.BYTES and parameter.offset not in placed:
            raise CompileFailed("a pointer of its launch leads out of its tensors")
    for at, address in placed.items():
        struct.pack_into("<Q", raw, at, address)
    return bytes(raw)


def finder_in(module: Module, code: CuteCode) -> Find:
    """An instruction's line in the reader's source."""
    from tutorlib.simulate.ptx.languages.cute import STACKS

    def find(instruction: Instruction) -> SourceLine | None:
        at = instruction.location
        if at is None or module.files.get(at.file) != STACKS or not 0 < at.line <= len(code.places):
            return None
        place = code.places[at.line - 1]
        return place if isinstance(place, SourceLine) else None

    return find


@dataclass
class SimulatedCuteEvidence:
    """Simulates. reports: of the last call's launches. budget: the most instructions of each."""

    evidence: CuteEvidence
    budget: float = inf
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def ptx(self, shape: Shape) -> str:
        return self.evidence.simulated_at(shape).ptx

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cute import simulate_launches

        code, sizes = self.evidence.simulated_at(work.shape), sizes_of(work.problem, work.shape)
        module = parse_ptx(code.ptx)
        find, recorded = finder_in(module, code), launches_of(code, module)

        def call() -> None:
            launches = [replace(one, parameters=parameters_for(one, work.tensors, sizes)) for one in recorded]
            self.reports = simulate_launches(work.named, launches, find, self.traced, self.budget)

        return call


@dataclass
class LaunchedCuteEvidence:
    """Launches all that the host function launched, in order."""

    evidence: CuteEvidence
    _loaded: dict[Shape, list[tuple[Any, Any]]] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        if work.shape not in self._loaded:
            self._loaded[work.shape] = self.load(work.shape)
        sizes = sizes_of(work.problem, work.shape)
        launches = [
            prepare(
                function,
                one.config,
                parameters_for(one, work.tensors, sizes),
                [parameter.offset for parameter in one.kernel.parameters],
            )
            for function, one in self._loaded[work.shape]
        ]
        return lambda: in_order(launches)

    def load(self, shape: Shape) -> list[tuple[Any, Any]]:
        """Each launch, and its function on the GPU at hand. Raises CompileFailed."""
        arch = device.need_gpu().arch
        code = self.evidence.compiled_at(shape, arch)
        launches, cubin = launches_of(code, parse_ptx(code.ptx)), machine_code(code.ptx)
        functions = {name: load_function(cubin, name) for name in {one.kernel.name for one in launches}}
        return [(functions[one.kernel.name], one) for one in launches]


def in_order(launches: Iterable[Call]) -> None:
    for launch in launches:
        launch()


# cuTile --------------------------------------------------------------------------------------------------------------


def compiled_cutile(evidence: CutileEvidence, problem: Problem, shape: Shape, target: str) -> Compiled:
    """Raises CompileFailed."""
    made = used(evidence.compiled.get(((problem.name, shape), target)), TileIr).checked()
    return compile_tile_ir(made.tile_ir, target, made.opt_level)


@dataclass
class SimulatedCutileEvidence:
    """Simulates. reports: of the last call. grid: takes a shape, gives the number of blocks along x, y and z."""

    evidence: CutileEvidence
    problem: Problem
    grid: Callable[[Shape], tuple[int, ...]]
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def compiled(self, shape: Shape) -> Compiled:
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return compiled_cutile(self.evidence, self.problem, shape, ARCH)

    def ptx(self, shape: Shape) -> str:
        return self.compiled(shape).ptx

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cutile import by_cubin, launch

        compiled = self.compiled(work.shape)
        find = by_cubin(compiled.cubin, str(self.evidence.file), [str(line) for line in self.evidence.lines])

        def call() -> None:
            self.reports = [launch(compiled, find, self.grid(work.shape), work.named, self.traced)]

        return call


@dataclass
class LaunchedCutileEvidence:
    """Launches as cuTile does: one thread for each tile block. The driver reads a block's needs from the cubin."""

    evidence: CutileEvidence
    grid: Callable[[Shape], LaunchGrid]
    _loaded: dict[Shape, Any] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        kinds, values = cutile_arguments(work.tensors)
        if work.shape not in self._loaded:
            compiled = compiled_cutile(self.evidence, work.problem, work.shape, device.tile_target())
            self._loaded[work.shape] = load_entry(compiled, kinds)
        parameters, offsets = packed(kinds, values)
        return prepare(self._loaded[work.shape], LaunchConfig(self.grid(work.shape)), parameters, offsets)


def cutile_arguments(args: "Iterable[Tensor | int]") -> tuple[tuple[str, ...], list[int]]:
    """The kinds and values that cuTile passes for its arguments: of a tensor its address, sizes and strides."""
    kinds: list[str] = []
    values: list[int] = []
    for arg in args:
        if isinstance(arg, int):
            kinds.append("u32")
            values.append(arg)
        else:
            kinds += ["ptr", *["u32"] * (2 * arg.ndim)]
            values += [arg.data_ptr(), *arg.shape, *arg.stride()]
    return tuple(kinds), values


def load_entry(compiled: Compiled, kinds: tuple[str, ...]) -> Any:
    """The one kernel of a module, on the GPU at hand. Raises CompileFailed if it takes other parameters."""
    match entries_of(compiled.ptx):
        case [(name, takes)] if takes == kinds:
            return load_function(compiled.cubin, name)
    raise CompileFailed("the compiled kernel takes parameters other than its tensors")


def packed(kinds: Sequence[str], values: Sequence[int]) -> tuple[bytes, list[int]]:
    """Parameters in the layout of the parameter space, each at a multiple of its size, and their offsets."""
    raw, offsets = b"", []
    for kind, value in zip(kinds, values, strict=True):
        form = struct.Struct(f"<{FORMS[kind]}")
        raw += bytes(-len(raw) % form.size)
        offsets.append(len(raw))
        raw += form.pack(value)
    return raw, offsets


# Host functions of cuTile kernels ------------------------------------------------------------------------------------


def plan_at(evidence: HostEvidence, problem: Problem, shape: Shape, target: str, sms: int) -> LaunchPlan:
    """Raises CompileFailed."""
    try:
        return used(evidence.plans.get((shape, target, sms)), LaunchPlan, NO_LAUNCHES).checked(len(problem.operands))
    except (AttributeError, TypeError) as error:
        raise CompileFailed(NO_LAUNCHES) from error


@dataclass
class SimulatedHostEvidence:
    """Simulates. reports: of the last call's launches. sms: of the GPU that the host function was told of."""

    evidence: HostEvidence
    problem: Problem
    sms: int
    reports: list[Report] = field(default_factory=list)
    traced: bool = False

    def plan(self, shape: Shape) -> LaunchPlan:
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return plan_at(self.evidence, self.problem, shape, ARCH, self.sms)

    def ptx(self, shape: Shape) -> str:
        from tutorlib.simulate.ptx.languages.cutile import ARCH

        return "\n".join(compile_tile_ir(one.tile_ir, ARCH, one.opt_level).ptx for one in self.plan(shape).launches)

    def on(self, work: Work) -> Call:
        from tutorlib.simulate.ptx.languages.cutile import ARCH, launch

        plan, names = self.plan(work.shape), list(work.named)

        def call() -> None:
            memories = plan.laid_out(work.tensors)
            self.reports = []
            for one in plan.launches:
                found: dict[str, Tensor | int] = {}
                for n, arg in enumerate(one.taken):
                    known = names[arg.memory] if isinstance(arg, Placed) and arg.memory < len(names) else ""
                    name = known if known and known not in found else f"argument {n}"
                    found[name] = arg.within(memories) if isinstance(arg, Placed) else arg
                made = compile_tile_ir(one.tile_ir, ARCH, one.opt_level)
                self.reports.append(launch(made, lambda instruction: None, one.grid, found, self.traced))

        return call


@dataclass
class LaunchedHostEvidence:
    """Launches what the host function launched. Each call starts from the memories as the host function left them."""

    evidence: HostEvidence
    _loaded: dict[bytes, Any] = field(default_factory=dict)

    @cached_property
    def target(self) -> str:
        return device.tile_target()

    def on(self, work: Work) -> Call:
        plan = plan_at(self.evidence, work.problem, work.shape, self.target, device.need_gpu().sms)
        memories = plan.laid_out(work.tensors)
        made = memories[len(work.tensors) :]
        first = [memory.clone() for memory in made]
        launches = [self.prepared(one, memories) for one in plan.launches]

        def call() -> None:
            for memory, content in zip(made, first, strict=True):
                memory.copy_(content)
            in_order(launches)

        return call

    def prepared(self, one: Planned, memories: "Sequence[Tensor]") -> Call:
        kinds, values = cutile_arguments(arg.within(memories) if isinstance(arg, Placed) else arg for arg in one.taken)
        if one.tile_ir not in self._loaded:
            compiled = compile_tile_ir(one.tile_ir, self.target, one.opt_level)
            self._loaded[one.tile_ir] = load_entry(compiled, kinds)
        return prepare(self._loaded[one.tile_ir], LaunchConfig(one.grid), *packed(kinds, values))
