"""Serves an answer from inside the sandbox to the judge outside, who calls it and asks things about it.

This runs where the student's code can change it. Nothing that it says gives points by itself. What kernels and
layouts need is imported where it is used: many pages' answers are only called.
"""

import ctypes
import linecache
import math
import socket
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.library_use import from_words, on_its_own, refuse_leaning
from tutorlib.checking.values import where
from tutorlib.compiling.spec import DTYPES, DType
from tutorlib.dsl.cute.functions import has_own_mark
from tutorlib.dsl.cutile.kernels import function_of, opt_level
from tutorlib.grading.transport import End
from tutorlib.grading.verdict import as_reported
from tutorlib.grading.wire import EXERCISES
from tutorlib.notebook.check import Printed

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.checking.kernel import KernelExercise


class Served:
    """An answer and what may be asked of it, beside calls: each public method, by its name."""

    def __init__(self, answer: Answer) -> None:
        self.answer = self.called = answer
        self.exercises: dict[str, KernelExercise] = {}
        self.kernels: dict[str, Any] = {}
        self.simulators: dict[str, Any] = {}
        self.numbers: Any = None
        self.shelves: dict[int, Any] = {}

    def call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.called(*args, **kwargs)
        except SystemExit:
            raise RuntimeError("it ends the notebook: SystemExit") from None

    def watch(self, library: list[Any] | None) -> None:
        """From now on calls raise WrongKind that lean on one of these. None: this process has nothing to lean on."""
        if not callable(self.answer):
            raise WrongKind(f"{self.answer!r} is not a function.")
        if has_own_mark(self.answer):  # CuTe's @jit: a compiler reads it
            refuse_leaning(self.answer, from_words(library or ()))
        elif library is not None:
            self.called = on_its_own(self.answer, from_words(library))

    def layout(self, *args: Any) -> Any:
        """The CuTe layout that the answer makes, as one of tensor_layouts."""
        from tutorlib.checking.traced import seen_as_layout

        return seen_as_layout(self.called)(*args)

    def vectors(self, *args: Any) -> Any:
        from tutorlib.checking.traced import call_on_vectors

        return call_on_vectors(self.answer, *args)

    def numbered(self, *args: Any) -> Any:
        """Which key of a cache the answer gives, by a number, and the key as text."""
        if self.numbers is None:
            from tutorlib.exercises.n17_compile_once.judge.numbered_keys import Numbered

            self.numbers = Numbered(lambda *given: self.called(*given))
        return self.numbers(*args)

    def compiling(self, host: str) -> dict[str, Any]:
        """What is wrong with how the answer compiles a function, and what it calls cute.compile with."""
        from tutorlib.exercises.n17_compile_once.judge.for_torch import told_of_compiling

        return told_of_compiling(self.called, host)

    def shelf(self, number: int, does: str, *args: Any) -> Any:
        """What a folder is asked in which the answer keeps compiled functions."""
        from tutorlib.exercises.n17_compile_once.judge.saved_kernels import Shelf

        shelf = self.shelves.setdefault(number, Shelf(self.called))
        return getattr(shelf, does)(*args)

    def fake(self, x: Any, weight: Any, dtype: str, device: str) -> Any:
        """What is told of the tensor that the answer makes of two without data."""
        from tutorlib.exercises.n16_fusion.judge.fake_tensors import Given, told_of_fake

        return told_of_fake(self.called, Given(x, weight, dtype, device))

    def symbols(self, *args: Any) -> Any:
        from tutorlib.exercises.n16_fusion.judge.fake_tensors import told_of_symbols

        return told_of_symbols(self.called, *args)

    def swapped(self, model: Any, *args: Any) -> Any:
        """What is told of a model whose layers the answer has swapped."""
        from tutorlib.exercises.n16_fusion.judge.swapped_models import Model, told_of_swapped

        return told_of_swapped(self.called, Model(*model), *args)

    def take(self, module: str, name: str, sent: dict[str, Any]) -> None:
        """The exercise that the judge asks about next, as `sent_exercise.sent_form` has it."""
        from tutorlib.grading.sent_exercise import rebuilt

        exercise = rebuilt(module, name, sent)
        self.exercises[exercise.id] = replace(exercise, run_elsewhere=partial(self.kernels.__setitem__, exercise.id))

    def exercise(self, id: str) -> "KernelExercise":
        return self.exercises[id]

    def examined(self, id: str) -> list[Any]:
        """What is found of a kernel without running it: points, and then the lines of its message.

        The kernel is kept with what was compiled of it.
        """
        outcome = self.exercise(id).grade(self.answer)
        return [float(outcome.points), *as_reported(self.exercise(id), outcome.message).split("\n  ")]

    def kernel(self, id: str) -> Any:
        """The answer as its exercise takes it."""
        if id not in self.kernels:
            self.kernels[id] = self.exercise(id).accept(self.answer)
        return self.kernels[id]

    def simulator(self, id: str) -> Any:
        if id not in self.simulators:
            self.simulators[id] = self.exercise(id).simulator(self.kernel(id))
        return self.simulators[id]

    def compiled(self, id: str, shape: tuple[int, ...], arch: str) -> dict[str, Any]:
        """PTX of a CuTe host function's kernels, for the problem's tensors at this shape and a compute capability."""
        made = self.kernel(id).compiled(shape, arch)
        return {"ptx": made.ptx, "smem_bytes": made.smem_bytes}

    def tile_ir(self, id: str, shape: tuple[int, ...], arch: str) -> dict[str, Any]:
        """What cuTile's own compiler makes of a kernel, for the problem's tensors at this shape. arch: "sm_90"."""
        from tutorlib.compiling.cutile import exported
        from tutorlib.measuring.launchers import tensor_specs

        kernel = self.kernel(id)
        specs = tensor_specs(self.exercise(id).problem, shape)
        made = exported(kernel.kernel, [*specs, *kernel.constants(shape)], arch, "tileir_bytecode")
        return {"tile_ir": made, "opt_level": opt_level(kernel.kernel, arch)}

    def traced(self, id: str, shape: tuple[int, ...]) -> dict[str, Any]:
        """PTX of a CuTe host function's kernels, and what the line numbers in it mean."""
        from tutorlib.simulate.ptx.languages.cute_lines import STACKS, place_of

        made = self.simulator(id).compiled(shape)
        places = {number: place_of(stack) for stack, number in made.stacks.stacks.items()}
        lines = {n: [at.file, at.line, at.text, list(at.called_from)] for n, at in places.items() if at}
        return {"ptx": made.ptx, "marks": STACKS, "lines": lines}

    def launches(
        self, id: str, shape: tuple[int, ...], addresses: list[int], gpu: tuple[str, int] | None
    ) -> dict[str, Any]:
        """What a CuTe host function launches on tensors that stand at these addresses of another process.

        gpu: the compute capability and the multiprocessors of the one that will run it; None for the simulator.
        """
        from tutorlib.compiling.cute import cute_arguments
        from tutorlib.simulate.ptx.languages.cute_host import SMS, record_launches
        from tutorlib.simulate.ptx.parse import parse_ptx

        exercise = self.exercise(id)
        arch, sms = gpu or ("", SMS)
        made = self.kernel(id).compiled(shape, arch) if arch else self.simulator(id).compiled(shape)
        specs = [(exercise.problem.shape_of(operand, shape), operand.dtype) for operand in exercise.problem.operands]
        tensors = [tensor_at(address, *spec) for address, spec in zip(addresses, specs, strict=True)]
        arguments = cute_arguments(tensors, exercise.dynamic)  # type: ignore[attr-defined]
        found = record_launches(made.function, parse_ptx(made.ptx), arguments, sms)
        return {
            "launches": [
                (
                    *(one.kernel, one.grid, one.block, one.dynamic_smem, one.parameters, one.cluster),
                    *(one.cooperative, one.overlapping),
                )
                for one in found
            ]
        }

    def interpreted(self, id: str, shape: tuple[int, ...], inputs: "list[Tensor]") -> dict[str, Any]:
        """What a cuTile kernel makes of these inputs, block by block."""
        import torch

        from tutorlib.problems.problem import torch_dtype
        from tutorlib.simulate.cutile import run

        exercise, kernel = self.exercise(id), self.kernel(id)
        output = exercise.problem.output
        size = exercise.problem.shape_of(output, shape)
        result = torch.full(size, float("nan")).to(torch_dtype(output.dtype))
        run(kernel.kernel, kernel.grid(shape), (*inputs, result, *kernel.constants(shape)))
        return {"result": result}

    def host_launches(self, id: str, shape: tuple[int, ...], arch: str, sms: int) -> dict[str, Any]:
        """What a host function launches of cuTile's kernels, on tensors that hold nothing."""
        import torch

        from tutorlib.problems.problem import torch_dtype
        from tutorlib.simulate.cutile.recording import recorded

        problem = self.exercise(id).problem
        tensors = [torch.zeros(problem.shape_of(op, shape), dtype=torch_dtype(op.dtype)) for op in problem.operands]
        return recorded(self.kernel(id), tensors, arch, sms)

    def source(self, id: str) -> dict[str, Any]:
        """The file in which a cuTile kernel stands, which may be a notebook's cell, and its lines."""
        file = function_of(self.kernel(id).kernel).__code__.co_filename
        return {"file": file, "lines": linecache.getlines(file)}


OF_VALUES = ("compiling", "fake", "layout", "numbered", "shelf", "swapped", "symbols", "vectors", "watch")
OF_KERNELS = ("compiled", "examined", "host_launches", "interpreted", "launches", "source", "take", "tile_ir", "traced")
SERVICES = (*OF_VALUES, *OF_KERNELS)


def serve(address: str, answer: Answer, kind: type[Served] = Served) -> None:
    """Carry out what the judge asks, until it hangs up. What the answer prints is not shown."""
    served = kind(answer)
    with socket.socket(socket.AF_UNIX) as line:
        line.setblocking(True)  # the page may have set a time limit for all of its sockets
        line.connect(address)
        connection = Connection(line.detach())
    services = {name: quietly(getattr(served, name)) for name in SERVICES}
    end = End(connection, services, locate=partial(where, answer), takes=EXERCISES)
    end.kept.append(quietly(served.call))
    end.serve()


def tensor_at(address: int, shape: tuple[int, ...], dtype: DType) -> "Tensor":
    """A row-major tensor at an address that is not this process's: nobody may read it."""
    import torch

    kind = getattr(torch, DTYPES[dtype].torch)
    size = max(math.prod(shape) * DTYPES[dtype].bytes, 1)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return torch.frombuffer(memory, dtype=kind, count=math.prod(shape)).view(shape)


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with what it prints kept from the page. Raises TooMuchOutput."""

    def call(*args: Any, **kwargs: Any) -> Any:
        printed = Printed()
        with redirect_stdout(printed), redirect_stderr(printed):
            return function(*args, **kwargs)

    return call
