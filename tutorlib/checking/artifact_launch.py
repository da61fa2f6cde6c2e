"""Artifacts, launched on the GPU at hand.

Inputs, outputs, references, stream and clock are the judge's own.
"""

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.checking.artifact import CuteArtifact, CutileArtifact
from tutorlib.checking.relocation import Relocatable, made_up_addresses, relocatable
from tutorlib.compiling.compiled import Compiled, LaunchConfig, LaunchGrid
from tutorlib.compiling.cutile import entries_of
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import DTYPES
from tutorlib.machine import device
from tutorlib.measuring.driver import load_function, prepare
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Call, Work
from tutorlib.simulate.ptx.ir import Module
from tutorlib.simulate.ptx.parse import parse_ptx

if TYPE_CHECKING:
    from torch import Tensor

FORMS = {"ptr": "Q", "u32": "i"}  # as struct packs them


@dataclass
class LaunchedCuteArtifact:
    """A launcher (`problems.work.Launcher`) for a CuTe host function: all of its launches, in order."""

    kernel: CuteArtifact
    _loaded: dict[Shape, list[tuple[Any, Relocatable]]] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        if work.shape not in self._loaded:
            self._loaded[work.shape] = self.load(work.problem, work.shape)
        addresses = [tensor.data_ptr() for tensor in work.tensors]
        launches = [
            prepare(function, one.launch.config, one.parameters(addresses), one.offsets)
            for function, one in self._loaded[work.shape]
        ]

        def call() -> None:
            for launch in launches:
                launch()

        return call

    def load(self, problem: Problem, shape: Shape) -> list[tuple[Any, Relocatable]]:
        """Each launch, and its function on the GPU at hand. Raises CompileFailed."""
        compiled = self.kernel.compiled(shape, device.need_gpu().arch)
        launches = self.recorded(parse_ptx(compiled.ptx), problem, shape)
        functions = {name: load_function(compiled.cubin, name) for name in {one.launch.kernel.name for one in launches}}
        return [(functions[one.launch.kernel.name], one) for one in launches]

    def recorded(self, module: Module, problem: Problem, shape: Shape) -> list[Relocatable]:
        """The host function's launches, for tensors at any address. module: its PTX. Raises CompileFailed."""
        shapes = [(problem.shape_of(operand, shape), operand.dtype) for operand in problem.operands]
        sizes = [math.prod(sides) * DTYPES[dtype].bytes for sides, dtype in shapes]
        recorded = self.kernel.launches(module, shape, made_up_addresses(len(sizes)), here=True)
        return [relocatable(one, sizes) for one in recorded]


@dataclass
class LaunchedCutileArtifact:
    """A launcher (`problems.work.Launcher`) for a @ct.kernel.

    It launches as cuTile does: one thread for each tile block. The driver reads a block's needs from the cubin.

    grid: takes a shape, gives the number of blocks along x, y and z.
    """

    kernel: CutileArtifact
    grid: Callable[[Shape], LaunchGrid]
    _loaded: dict[Shape, Any] = field(default_factory=dict)

    def on(self, work: Work) -> Call:
        kinds, values = cutile_arguments(work.tensors)
        if work.shape not in self._loaded:
            self._loaded[work.shape] = self.load(work.problem, work.shape, kinds)
        parameters, offsets = packed(kinds, values)
        return prepare(self._loaded[work.shape], LaunchConfig(self.grid(work.shape)), parameters, offsets)

    def load(self, problem: Problem, shape: Shape, kinds: tuple[str, ...]) -> Any:
        """The function on the GPU at hand. Raises CompileFailed if it takes other parameters."""
        compiled = self.kernel.compiled(problem, shape, device.tile_target())
        return load_entry(compiled, kinds)


def cutile_arguments(args: Iterable["Tensor | int"]) -> tuple[tuple[str, ...], list[int]]:
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
