"""Questions about a kernel, answered in the process of its answer: see `served`.

Heavy modules are imported where they are used: many pages' answers are only called.
"""

import ctypes
import linecache
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tutorlib.checking.answer import Answer, WrongKind
from tutorlib.checking.served import Served
from tutorlib.compiling.errors import CompileFailed, first_cause
from tutorlib.compiling.spec import DTYPES, TensorSpec
from tutorlib.dsl.cutile.kernels import function_of, opt_level

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Taken:
    """A kernel exercise and its answer, which is compiled once."""

    exercise: Any  # a KernelExercise
    answer: Answer

    @cached_property
    def kernel(self) -> Any:
        """The kernel that the exercise accepts."""
        return self.exercise.accept(self.answer)

    @cached_property
    def tracer(self) -> Any:
        """The kernel as a simulated launcher, compiled with lines of the reader's source."""
        return self.exercise.tracer(self.answer)


def accepted_by(served: Served, id: str) -> Taken:
    """Raises KeyError for an exercise that was never taken."""
    if id not in served.kept:
        served.kept[id] = Taken(served.exercises[id], served.answer)
    one = served.kept[id]
    assert isinstance(one, Taken)
    return one


def looked_at(served: Served, id: str) -> dict[str, Any] | None:
    """Findings without running the answer: points and lines of a verdict."""
    one = accepted_by(served, id)
    found = one.exercise.look(one.answer, lambda: one.kernel)
    return {"points": float(found.points), "lines": list(found.lines)} if found else None


def cute_ptx(served: Served, id: str, shape: tuple[int, ...], arch: str) -> dict[str, Any]:
    """PTX of a CuTe host function's kernels, for the problem's tensors at this shape and a compute capability.

    Raises CompileFailed, and WrongKind if a part of the kernel is refused during tracing.
    """
    try:
        made = accepted_by(served, id).kernel.compiled(shape, arch)
    except CompileFailed as failed:
        if refused := first_cause(failed, WrongKind):
            raise refused from None
        raise
    return {"ptx": made.ptx, "smem_bytes": made.smem_bytes}


def tile_ir(served: Served, id: str, shape: tuple[int, ...], arch: str) -> dict[str, Any]:
    """The Tile IR of a cuTile kernel, for the problem's tensors at this shape. arch: "sm_90"."""
    from tutorlib.compiling.cutile import exported
    from tutorlib.measuring.launchers import tensor_specs

    one = accepted_by(served, id)
    kernel = one.kernel
    specs = tensor_specs(one.exercise.problem, shape)
    made = exported(kernel.kernel, [*specs, *kernel.constants(shape)], arch, "tileir_bytecode")
    return {"tile_ir": made, "opt_level": opt_level(kernel.kernel, arch)}


def cute_with_lines(served: Served, id: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """PTX of a CuTe host function's kernels, and the source lines that its line numbers stand for."""
    from tutorlib.simulate.ptx.languages.cute_lines import STACKS, place_of

    made = accepted_by(served, id).tracer.compiled(shape)
    places = {number: place_of(stack) for stack, number in made.stacks.stacks.items()}
    lines = {n: [at.file, at.line, at.text, list(at.called_from)] for n, at in places.items() if at}
    return {"ptx": made.ptx, "marks": STACKS, "lines": lines}


def cute_launches(
    served: Served, id: str, shape: tuple[int, ...], addresses: list[int], gpu: tuple[str, int] | None
) -> dict[str, Any]:
    """The launches of a CuTe host function on tensors at these addresses of another process.

    gpu: its compute capability and SMs; None for the simulator.
    """
    from tutorlib.compiling.cute import cute_arguments
    from tutorlib.simulate.ptx.languages.cute_host import SMS, record_launches
    from tutorlib.simulate.ptx.parse import parse_ptx

    one = accepted_by(served, id)
    exercise = one.exercise
    arch, sms = gpu or ("", SMS)
    made = one.kernel.compiled(shape, arch) if arch else one.tracer.compiled(shape)
    specs = [operand.spec(exercise.problem.shape_of(operand, shape)) for operand in exercise.problem.operands]
    tensors = [tensor_at(address, spec) for address, spec in zip(addresses, specs, strict=True)]
    arguments = cute_arguments(tensors, exercise.dynamic)
    found = record_launches(made.function, parse_ptx(made.ptx), arguments, sms)
    return {
        "launches": [
            (
                *(one.kernel.name, one.grid, one.block, one.dynamic_smem, one.parameters, one.cluster),
                *(one.cooperative, one.overlapping),
            )
            for one in found
        ]
    }


def interpreted(served: Served, id: str, shape: tuple[int, ...], inputs: "list[Tensor]") -> dict[str, Any]:
    """A cuTile kernel's result for these inputs, interpreted block by block."""
    import torch

    from tutorlib.problems.problem import torch_dtype
    from tutorlib.simulate.cutile import run

    one = accepted_by(served, id)
    output = one.exercise.problem.output
    size = one.exercise.problem.shape_of(output, shape)
    result = torch.full(size, float("nan")).to(torch_dtype(output.dtype))
    run(one.kernel.kernel, one.kernel.grid(shape), (*inputs, result, *one.kernel.constants(shape)))
    return {"result": result}


def cutile_launches(served: Served, id: str, shape: tuple[int, ...], arch: str, sms: int) -> dict[str, Any]:
    """The cuTile kernels that a host function launches, on tensors of zeros."""
    import torch

    from tutorlib.checking.cutile_launches import launches_as_data
    from tutorlib.problems.problem import torch_dtype

    one = accepted_by(served, id)
    problem = one.exercise.problem
    tensors = [torch.zeros(problem.shape_of(op, shape), dtype=torch_dtype(op.dtype)) for op in problem.operands]
    try:
        return launches_as_data(one.kernel, tensors, arch, sms)
    except (CompileFailed, NotImplementedError):
        raise
    except Exception as error:
        raise CompileFailed(f"while it ran: {type(error).__name__}: {error}") from error


def source(served: Served, id: str) -> dict[str, Any]:
    """The file of a cuTile kernel, possibly a notebook's cell, and its lines."""
    file = function_of(accepted_by(served, id).kernel.kernel).__code__.co_filename
    return {"file": file, "lines": linecache.getlines(file)}


def tensor_at(address: int, spec: TensorSpec) -> "Tensor":
    """A tensor at another process's address: it must not be read."""
    import torch

    kind, count = DTYPES[spec.dtype], math.prod(spec.shape)
    memory = (ctypes.c_uint8 * max(count * kind.bytes, 1)).from_address(address)
    flat = torch.frombuffer(memory, dtype=getattr(torch, kind.torch), count=count)
    by_stride = sorted(range(len(spec.shape)), key=spec.stride_order.__getitem__, reverse=True)
    return flat.view([spec.shape[mode] for mode in by_stride]).permute(
        [by_stride.index(mode) for mode in range(len(spec.shape))]
    )
