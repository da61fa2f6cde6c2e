"""A GPU's results for the solutions' kernels, recorded so that any machine can compare the simulator with them.

An output is kept as its distance from the exact result rounded once, element by element, in steps of its dtype: nearly
all zeros, so that a matrix takes a few hundred bytes. Inputs come from a seed and have few bits, so that float64 adds
up their products exactly, whatever the order.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.served import Served
from tutorlib.course.answers import load_answers
from tutorlib.exercises import find, of_notebook, rooms
from tutorlib.instruments import accesses
from tutorlib.instruments.h200_sums import exact_products
from tutorlib.machine import device
from tutorlib.machine.versions import this_machine
from tutorlib.measuring.counters import NoCounters
from tutorlib.measuring.results import sweep_file, write_json
from tutorlib.paths import SWEEPS
from tutorlib.problems.problem import Operand, Problem, Shape, torch_dtype
from tutorlib.problems.work import Launcher, Work, call_in_order

NAME = "simulated"  # of its files: figures/data/sweeps/GPU_simulated.json
SEED = 7
GEMM = (264, 392, 328)  # with tiles of 128×128×64: 12 blocks and 6 K tiles, all ragged
SMALL_GEMM = (136, 132, 136)  # 4 blocks: all the digits of its sums are kept
GATED_GEMM = (264, 384, 328)  # whole pieces of gate and of up along N
SIGNIFICANT = {"fp32": 24, "fp16": 11, "bf16": 8, "e4m3": 4}  # bits
TF32 = 11  # bits that a GEMM of fp32 matrices does not lose on its way into the tensor cores
BINADES = 6  # inputs have this many different exponents, so that sums in fp32 must round


class Changed(LookupError):
    """A record belongs to other inputs, or to another exact result, than this machine's. One line."""


@dataclass(frozen=True)
class Kept:
    """One output of a GPU.

    inputs: a hash of their bytes; output: of the output's. distance: from the exact result, as `pack` writes it.
    """

    exercise: str
    shape: Shape
    inputs: str
    output: str
    distance: str


@dataclass(frozen=True)
class Agreement:
    """How near two outputs are.

    differ: how many of `elements` differ. steps: the most by which one does, in steps of the output's dtype.
    of_bound: the largest difference over the error that the problem allows there, 0 to 1 where both are right;
    infinite where one of them alone is NaN.
    """

    elements: int
    differ: int
    steps: int
    of_bound: float

    @property
    def bit_for_bit(self) -> bool:
        return self.differ == 0


@dataclass(frozen=True)
class GpuRecord:
    """All that was kept of one GPU. machine: as `this_machine` gives it; date: of the last run, ISO.

    accesses: kernel of `measuring.accesses` → metric → what ncu counted.
    """

    machine: dict[str, Any]
    date: str
    outputs: tuple[Kept, ...] = ()
    accesses: dict[str, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> "GpuRecord":
        data = json.loads(file.read_text(encoding="utf-8"))
        outputs = tuple(Kept(**{**one, "shape": tuple(one["shape"])}) for one in data["outputs"])
        return cls(data["machine"], data["date"], outputs, data["accesses"])

    def write(self) -> Path:
        return write_json(sweep_file(self.machine["gpu"], NAME), asdict(self))


def gpu_records() -> list[GpuRecord]:
    """The records of every GPU, by file name."""
    return [GpuRecord.read(file) for file in sorted(SWEEPS.glob(f"*_{NAME}.json"))]


def witnessed() -> Iterator[tuple[KernelExercise, Any, Shape]]:
    """Every kernel of the solutions that the simulator runs, with the sizes at which it is compared."""
    for notebook in sorted(rooms()):
        found = [e for e in of_notebook(notebook) if isinstance(e, KernelExercise) and e.simulated]
        answers = load_answers(notebook) if found else {}
        for exercise in found:
            for shape in sizes_kept(exercise):
                yield exercise, answers[exercise.id], shape


def sizes_kept(exercise: KernelExercise) -> tuple[Shape, ...]:
    """At least four blocks and, in a GEMM, four K tiles, in one of them; ragged where the exercise is."""
    problem = exercise.problem
    if problem.dims != "MNK":
        return exercise.shapes
    if problem.output.dtype == "fp32":
        return (SMALL_GEMM,)
    return (GATED_GEMM,) if problem.output.blocks else (GEMM,)


def record() -> Iterator[str]:
    """Run and count each kernel on the GPU at hand, into its file; a line about each."""
    here = this_machine()
    file, outputs, found = sweep_file(here["gpu"], NAME), list[Kept](), dict[str, dict[str, float]]()
    for one in take():
        if isinstance(one, Kept):
            outputs.append(one)
            one = f"{one.exercise} at {one.shape}: {len(one.distance)} bytes"
        yield one
    try:
        for metrics in (accesses.HARDWARE, accesses.BY_ADDRESS):
            for kernel, counted in accesses.count_on_gpu(metrics).items():
                found[kernel] = found.get(kernel, {}) | counted
    except NoCounters as error:
        yield f"no accesses are counted, and the file keeps what it has: {error}"
        found = GpuRecord.read(file).accesses if file.exists() else {}
    yield f"wrote {GpuRecord(here, date.today().isoformat(), tuple(outputs), found).write()}"


def take() -> Iterator[Kept | str]:
    """Run each kernel on the GPU at hand; a line about each that fails."""
    for exercise, answer, shape in witnessed():
        if (found := device.gpu()) and not exercise.needs.on(found.arch):
            continue
        inputs = inputs_of(exercise.problem, shape)
        try:
            output = run_once(exercise.problem, exercise.launcher(exercise.artifact(Served(answer))), shape, inputs)
        except Exception as error:  # one kernel that does not run here leaves the others their turn
            yield f"{exercise.id} at {shape}: {type(error).__name__}: {error}".splitlines()[0]
        else:
            yield keep(exercise, shape, inputs, output)


def run_once(problem: Problem, launcher: Launcher, shape: Shape, inputs: tuple[Tensor, ...]) -> Tensor:
    """The output of a kernel on the GPU at hand, in ordinary memory. Raises CompileFailed and KernelFault."""
    work = Work(problem, shape)
    for there, here in zip(work.inputs, inputs, strict=True):
        there.copy_(here)
    return call_in_order(launcher.on(work), work.output).result.cpu()


def run_simulated(exercise: KernelExercise, answer: Any, shape: Shape, inputs: tuple[Tensor, ...]) -> Tensor:
    """The output of the same kernel in the simulator, bit for bit. Raises CompileFailed and NotSimulated."""
    work = Work(exercise.problem, shape, "cpu")
    for there, here in zip(work.inputs, inputs, strict=True):
        there.copy_(here)
    unlimited = replace(exercise, budget=inf)  # a budget of instructions is for the check's sizes
    with exact_products():
        unlimited.simulator(unlimited.artifact(Served(answer))).on(work)()
    return work.output.tensor


def inputs_of(problem: Problem, shape: Shape) -> tuple[Tensor, ...]:
    """From SEED, the same on every machine: integers over powers of two, none of which is rounded.

    A problem of integers draws its own, which may be places in an array.
    """
    if any(op.dtype not in SIGNIFICANT for op in problem.inputs):
        import torch

        return problem.random(shape, torch.Generator().manual_seed(SEED))
    generator = np.random.default_rng(SEED)
    sizes = dict(zip(problem.dims, shape, strict=True))
    return tuple(draw(op, problem.shape_of(op, shape), sizes, generator) for op in problem.inputs)


def draw(op: Operand, shape: Shape, sizes: dict[str, int], generator: np.random.Generator) -> Tensor:
    most = 2 ** min(SIGNIFICANT[op.dtype], TF32 if "K" in sizes else 24)
    exponents = generator.integers(0, BINADES, shape) + round(np.log2(sizes.get(op.variance, 1)) / 2)
    values = np.ldexp(generator.integers(-most, most, shape, endpoint=True) / most, -exponents) * op.scale
    return torch.from_numpy(values).to(torch_dtype(op.dtype))


def keep(exercise: KernelExercise, shape: Shape, inputs: tuple[Tensor, ...], output: Tensor) -> Kept:
    """output: of the call on these inputs, both in ordinary memory."""
    apart = ordinals(output) - ordinals(exact(exercise.problem, inputs, shape))
    return Kept(exercise.id, shape, digest(*inputs), digest(output), pack(apart))


def restore(kept: Kept) -> tuple[tuple[Tensor, ...], Tensor]:
    """The inputs and what the GPU gave for them. Raises Changed."""
    problem = find(kept.exercise).problem  # type: ignore[attr-defined]  # of kernel exercises alone is anything kept
    inputs = inputs_of(problem, kept.shape)
    if digest(*inputs) != kept.inputs:
        raise Changed(f"{kept.exercise}: these are not the inputs that the GPU had: run `tutor witness` on it again")
    like = exact(problem, inputs, kept.shape)
    output = from_ordinals(ordinals(like) + unpack(kept.distance).reshape(tuple(like.shape)), like)
    if digest(output) != kept.output:
        raise Changed(f"{kept.exercise}: the exact result differs here: run `tutor witness` on the GPU again")
    return inputs, output


def compare(problem: Problem, inputs: tuple[Tensor, ...], shape: Shape, one: Tensor, other: Tensor) -> Agreement:
    steps = np.abs(ordinals(one) - ordinals(other))
    result, allowed = problem.expected(inputs, shape)
    apart = (one.double() - other.double()).abs()
    apart[one.isnan() != other.isnan()] = inf
    part = (apart / allowed.double().expand_as(result).clamp_min(1e-300))[apart > 0]
    return Agreement(steps.size, int((steps > 0).sum()), int(steps.max()), float(part.max()) if len(part) else 0.0)


def exact(problem: Problem, inputs: tuple[Tensor, ...], shape: Shape) -> Tensor:
    """The exact result, rounded once to the output's dtype."""
    result, _ = problem.expected(inputs, shape)
    return result.to(torch_dtype(problem.output.dtype)).contiguous()


def bits(tensor: Tensor) -> np.ndarray:
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}
    found: np.ndarray = tensor.contiguous().view(integers[tensor.element_size()]).numpy()
    return found


def ordinals(tensor: Tensor) -> np.ndarray:
    """Integers that follow one another as the dtype's numbers do: 0 for both zeros, 1 for the smallest above them."""
    found = bits(tensor).astype(np.int64)
    if not tensor.is_floating_point():
        return found
    lowest = -(1 << 8 * tensor.element_size() - 1)
    return np.where(found < 0, lowest - found, found)


def from_ordinals(numbers: np.ndarray, like: Tensor) -> Tensor:
    """The inverse of `ordinals`, but for -0, which becomes 0."""
    lowest = -(1 << 8 * like.element_size() - 1)
    ordered = np.where(numbers < 0, lowest - numbers, numbers) if like.is_floating_point() else numbers
    integers = ordered.astype(f"i{like.element_size()}")
    return torch.from_numpy(np.ascontiguousarray(integers)).view(like.dtype)


def digest(*tensors: Tensor) -> str:
    """A hash of their bytes, -0 taken for 0."""
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(bits(from_ordinals(ordinals(tensor), tensor)).tobytes())
    return found.hexdigest()[:16]


def pack(distance: np.ndarray) -> str:
    """Integers, most of them small, as text: their smallest type, then their bytes, compressed."""
    low, high = int(distance.min()), int(distance.max())
    kind = next(k for k in ("i1", "i2", "i4", "i8") if np.iinfo(k).min <= low <= high <= np.iinfo(k).max)
    return f"{kind}:{base64.b85encode(zlib.compress(distance.astype(kind).tobytes(), 9)).decode()}"


def unpack(text: str) -> np.ndarray:
    kind, _, packed = text.partition(":")
    return np.frombuffer(zlib.decompress(base64.b85decode(packed)), kind).astype(np.int64)
