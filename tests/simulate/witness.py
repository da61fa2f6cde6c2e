"""Outputs of the solutions' kernels on a GPU, recorded so that any machine can compare the simulator with them.

python -m tests.simulate.witness    runs on a GPU and writes figures/data/sweeps/GPU_simulated.json

The file has the bits in which an output differs from the exact result rounded once, nearly all of them zeros, so that
a matrix takes a few hundred bytes. Inputs come from a seed and have few bits: float64 adds up their products exactly.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutorlib.checking.answer import Served
from tutorlib.checking.kernel import KernelExercise
from tutorlib.course.answers import load_answers
from tutorlib.exercises import of_notebook
from tutorlib.machine import device
from tutorlib.machine.device import this_machine
from tutorlib.measuring.results import sweep_file, write_json
from tutorlib.paths import notebook_names
from tutorlib.problems.problem import Operand, Problem, Shape, torch_dtype
from tutorlib.problems.work import Launcher, Work, call_in_order

NAME = "simulated"  # of its files: figures/data/sweeps/GPU_simulated.json
SEED = 7
GEMM = (264, 392, 328)  # with tiles of 128×128×64: 12 blocks and 6 K tiles, all ragged
SMALL_GEMM = (136, 132, 136)  # fp32 outputs differ from the exact result in most elements: 4 blocks
GATED_GEMM = (264, 384, 328)  # whole pieces of gate and of up along N
SIGNIFICANT = {"fp32": 24, "fp16": 11, "bf16": 8, "e4m3": 4}  # bits
TF32 = 11  # bits that a GEMM of fp32 matrices does not lose on its way into the tensor cores
BINADES = 6  # inputs have this many different exponents, so that sums in fp32 must round
MOST = 2**18  # characters of a record: fp32 matrices differ everywhere, and a large one shows no more than a small one
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32}  # by the bytes of an element


class Changed(LookupError):
    """A record belongs to other inputs, or to another exact result, than this machine's. One line."""


@dataclass(frozen=True)
class Kept:
    """One output of a GPU. inputs, output: hashes of their bytes.

    differs: the output's bits xor those of the exact result, compressed.
    """

    exercise: str
    shape: Shape
    inputs: str
    output: str
    differs: str


def witnessed() -> Iterator[tuple[KernelExercise, Any, Shape]]:
    """Every kernel of the solutions that the simulator runs, its answer, and each size at which it is compared.

    Not an answer that is simulated within a smaller kernel than the one that a GPU runs.
    """
    for notebook in notebook_names():
        found = [e for e in of_notebook(notebook) if isinstance(e, KernelExercise) and e.simulated and not is_small(e)]
        answers = load_answers(notebook) if found else {}
        for exercise in found:
            for shape in sizes_of(exercise.problem, exercise.shapes):
                yield exercise, answers[exercise.id], shape


def is_small(exercise: KernelExercise) -> bool:
    return bool(getattr(getattr(exercise, "part", None), "small", None))


def sizes_of(problem: Problem, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """At least four blocks and, in a GEMM, four K tiles. shapes: the exercise's, for other problems than GEMMs."""
    if problem.dims != "MNK":
        return shapes
    if problem.output.dtype == "fp32":
        return (SMALL_GEMM,)
    return (GATED_GEMM,) if problem.output.blocks else (GEMM,)


def inputs_of(problem: Problem, shape: Shape) -> tuple[Tensor, ...]:
    """From SEED, the same on every machine: integers over powers of two, none of which is rounded, and zeros.

    A problem of integers draws its own, which may be places in an array.
    """
    if any(op.dtype not in SIGNIFICANT and not op.size for op in problem.inputs):
        return problem.random(shape, torch.Generator().manual_seed(SEED))
    generator = np.random.default_rng(SEED)
    sizes = dict(zip(problem.dims, shape, strict=True))
    return tuple(draw(op, problem.shape_of(op, shape), sizes, generator) for op in problem.inputs)


def draw(op: Operand, shape: Shape, sizes: dict[str, int], generator: np.random.Generator) -> Tensor:
    if op.size:
        return torch.zeros(shape, dtype=torch_dtype(op.dtype))
    most = 2 ** min(SIGNIFICANT[op.dtype], TF32 if "K" in sizes else 24)
    exponents = generator.integers(0, BINADES, shape) + round(np.log2(sizes.get(op.variance, 1)) / 2)
    values = np.ldexp(generator.integers(-most, most, shape, endpoint=True) / most, -exponents) * op.scale
    return torch.from_numpy(values).to(torch_dtype(op.dtype))


def run(launcher: Launcher, problem: Problem, shape: Shape, inputs: tuple[Tensor, ...], where: str = "cuda") -> Tensor:
    """The output of one call, in ordinary memory. Raises CompileFailed, KernelFault and NotSimulated."""
    work = Work(problem, shape, where)
    for there, here in zip(work.inputs, inputs, strict=True):
        there.copy_(here)
    if where == "cpu":
        launcher.on(work)()
        return work.output.tensor
    return call_in_order(launcher.on(work), work.output).tensor.cpu()


def at(exercise: KernelExercise, shape: Shape) -> KernelExercise:
    """The exercise at this size alone, without the budget that a check has at its own sizes."""
    return replace(exercise, shapes=(shape,), rules=(), rules_at={})


def run_simulated(exercise: KernelExercise, answer: Any, shape: Shape, inputs: tuple[Tensor, ...]) -> Tensor:
    """The output of the same kernel in the simulator."""
    here = at(exercise, shape)
    return run(here.simulator(here.evidence(Served(answer), (shape,), ())), exercise.problem, shape, inputs, "cpu")


def exact(problem: Problem, inputs: tuple[Tensor, ...], shape: Shape) -> Tensor:
    """The exact result, rounded once to the output's dtype."""
    result, _ = problem.expected(inputs, shape)
    return result.to(torch_dtype(problem.output.dtype)).contiguous()


def bits(tensor: Tensor) -> np.ndarray:
    found: np.ndarray = tensor.contiguous().view(INTEGERS[tensor.element_size()]).numpy()
    return found


def digest(*tensors: Tensor) -> str:
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(bits(tensor).tobytes())
    return found.hexdigest()[:16]


def digest_inputs(problem: Problem, inputs: tuple[Tensor, ...]) -> str:
    """Without those that begin as zeros."""
    return digest(*(tensor for op, tensor in zip(problem.inputs, inputs, strict=True) if not op.size))


def keep(id: str, problem: Problem, shape: Shape, inputs: tuple[Tensor, ...], output: Tensor) -> Kept:
    """output: of the call on these inputs, both in ordinary memory."""
    changed = bits(output) ^ bits(exact(problem, inputs, shape))
    packed = base64.b85encode(zlib.compress(changed.tobytes(), 9)).decode()
    return Kept(id, shape, digest_inputs(problem, inputs), digest(output), packed)


def restore(kept: Kept, problem: Problem) -> tuple[tuple[Tensor, ...], Tensor]:
    """The inputs and the GPU's output for them. Raises Changed."""
    inputs = inputs_of(problem, kept.shape)
    if digest_inputs(problem, inputs) != kept.inputs:
        raise Changed(f"{kept.exercise}: these are not the inputs that the GPU had: run tests.simulate.witness again")
    like = exact(problem, inputs, kept.shape)
    changed = np.frombuffer(zlib.decompress(base64.b85decode(kept.differs)), bits(like).dtype).reshape(like.shape)
    output = torch.from_numpy(bits(like) ^ changed).view(like.dtype)
    if digest(output) != kept.output:
        raise Changed(f"{kept.exercise}: the exact result differs here: run tests.simulate.witness on the GPU again")
    return inputs, output


def main() -> None:
    """Run each kernel on the GPU at hand, and print a line about each; one that fails leaves the others their turn."""
    arch, outputs = device.need_gpu().arch, []
    for exercise, answer, shape in witnessed():
        if not exercise.needs.on(arch):
            continue
        inputs = inputs_of(exercise.problem, shape)
        try:
            here = at(exercise, shape)
            output = run(here.launcher(here.evidence(Served(answer), (), (shape,))), exercise.problem, shape, inputs)
        except Exception as error:
            print(f"{exercise.id} at {shape}: {type(error).__name__}: {error}".splitlines()[0])
            continue
        kept = keep(exercise.id, exercise.problem, shape, inputs, output)
        print(f"{exercise.id} at {shape}: {len(kept.differs)} bytes{', too many to keep' * (len(kept.differs) > MOST)}")
        if len(kept.differs) <= MOST:
            outputs.append(vars(kept))
    machine = this_machine()
    data = {"machine": machine, "date": date.today().isoformat(), "outputs": outputs}
    print(f"wrote {write_json(sweep_file(machine['gpu'], NAME), data)}")


if __name__ == "__main__":
    main()
