"""Exercises of notebook 16: fused epilogues, an operator for torch, and a split over two GPUs."""

from collections.abc import Sequence
from functools import partial
from math import prod
from pkgutil import resolve_name
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import inside
from tutorlib.checking.randomness import beside
from tutorlib.checking.scenario import Record, as_the_course, recorded
from tutorlib.checking.values import Case, law
from tutorlib.exercises.judges import p16 as judge
from tutorlib.exercises.values import case_exercise
from tutorlib.problems.fused import gelu, linear_add, linear_gelu, linear_swiglu, tile_amax
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from torch import Tensor


# 16.6: the layout of interleaved weights.

MOST_ROWS = 2**20  # listed one by one; the largest weights here have a few hundred


def rows_of(layout: Any) -> list[int]:
    """The source of each row, the first mode fastest. Raises ValueError and TypeError for no layout of rows."""
    sizes = [(int(size), int(step)) for size, step in zip(*layout, strict=True)]
    if any(size < 1 for size, _ in sizes) or prod(size for size, _ in sizes) > MOST_ROWS:
        raise ValueError(f"its shape should have between 1 and {MOST_ROWS:,} rows")
    rows = [0]
    for size, step in sizes:
        rows = [row + step * n for n in range(size) for row in rows]
    return rows


def is_interleaved(got: Any, features: int, width: int) -> str | None:
    try:
        rows = rows_of(got)
    except (TypeError, ValueError):
        return "it should be a pair (shape, stride) of tuples of whole numbers, equally long"
    if len(rows) != 2 * features:
        return f"it has {len(rows)} rows, and gate and up together have {2 * features}"
    wanted = rows_of(((width, 2, features // width), (1, features, width)))
    for at, (row, want) in enumerate(zip(rows, wanted, strict=True)):
        if row != want:
            which = f"{'up' if want >= features else 'gate'}'s row {want % features}"
            return f"row {at} should be {which}, which is row {want} of gate stacked on up; it is row {row}"
    return None


def interleaves(name: str, known: Sequence[tuple[int, int]], widths: Sequence[int]) -> Case:
    """widths: of the grader's pieces, of which it also tries any number."""

    def draw(rng: Random) -> tuple[int, int]:
        width = rng.choice(widths)
        return width * rng.randint(1, 20), width

    return law(name, beside(known, draw), is_interleaved)


# 16.8 to 16.14: layers of torch. What a scenario's record should be.


def by_autograd(grad: "Tensor", *leaves_and_gemm: Any) -> "tuple[Tensor, ...]":
    """The gradients of a linear layer, or with a bias of GELU of it; gemm's factor is on all products."""
    import torch

    *leaves, gemm = leaves_and_gemm
    x, weight, *bias = (one.detach().requires_grad_() for one in leaves)
    gemm.done += [x.numel() * len(weight)] * (3 if bias else 2)
    y = gemm.factor * (x @ weight.mT)
    y = torch.nn.functional.gelu(y + bias[0], approximate="tanh") if bias else y
    return torch.autograd.grad(y, (x, weight, *bias), grad)


def differentiates(x: Shape, weight: Shape, biased: bool = False, scale: float = 1.0) -> Case:
    """biased: of GELU of the layer with a bias. scale: of x."""

    def draw(rng: Random) -> tuple:
        shapes = (*x[:-1], weight[0]), x, weight, *([weight[:1]] if biased else [])
        grad, of_x, *others = judge.draw_tensors(rng, *shapes)
        return rng.uniform(0.3, 0.7), grad, scale * of_x, *others

    name = f"x {x}, weight {weight}{', large numbers' if scale > 1 else ''}"
    return as_the_course(name, judge.gradients, draw, lambda: by_autograd)


def fakes(name: str, rank: int, dtype: str = "float32", device: str = "cpu", symbols: bool = False) -> Case:
    """rank: of x."""

    def draw(rng: Random) -> tuple:
        out, *x = rng.sample(range(3, 40), rank + 1)
        return tuple(x), (out, x[-1]), dtype, device, symbols

    return as_the_course(name, judge.fake_result, draw, partial(resolve_name, f"{KERNELS}.{LAYER}:linear_fake"))


def swaps(name: str) -> Case:
    def draw(rng: Random) -> tuple:
        return name, rng.getrandbits(32), rng.uniform(0.5, 2.0)

    return as_the_course(name, judge.swapped_model, draw, partial(resolve_name, f"{KERNELS}.{LAYER}:use_kernels"))


def shard(gate: "Tensor", up: "Tensor", down: "Tensor", rank: int, world: int) -> "tuple[Tensor, ...]":
    if gate.shape[0] % world:
        raise ValueError("features do not divide")
    return *(one.chunk(world)[rank].clone() for one in (gate, up)), down.chunk(world, 1)[rank].contiguous().clone()


def shards(name: str, *worlds: int) -> Case:
    """worlds: numbers of ranks; 0: one that does not divide the features."""

    def draw(rng: Random) -> tuple:
        hidden, features, other = rng.randint(3, 20), 4 * rng.randint(2, 9), rng.choice((3, 5, 7))
        features += 4 * (features % other == 0)
        shapes = (features, hidden), (features, hidden), (hidden, features)
        return judge.draw_tensors(rng, *shapes), [world or other for world in worlds]

    return as_the_course(name, judge.shares, draw, lambda: shard)


def registers(caller: str) -> Case:
    """caller: of the operator."""

    def draw(rng: Random) -> tuple:
        *rows, k, n = (rng.randint(2, 9) for _ in range(rng.randint(3, 4)))
        *given, grad = judge.draw_tensors(rng, (*rows, k), (n, k), (n,), (*rows, n))
        return caller, rng.uniform(0.5, 2.0), rng.uniform(2.0, 3.0), given, grad

    def expected(caller: str, factor: float, scale: float, given: "list[Tensor]", grad: "Tensor") -> Record:
        result = judge.forward_of(factor, *given)
        names = ("gradient of x", "gradient of weight", "gradient of bias")
        record: dict[str, Record] = {
            "eager mode": {"result": result},
            "tensors without data": {"shape": tuple(result.shape), "calls of forward": 0},
            "backward()": dict(zip(names, judge.backward_of(scale, grad, *given[:2]), strict=True)),
            "autocast": {"dtype of the result": "torch.bfloat16", "rule for CUDA devices": "one"},
        }
        return {"error": ""} | record[caller]

    return recorded(caller, judge.registered, draw, expected)


def gates(name: str, rows: tuple[int, ...], dtype: str) -> Case:
    """rows: the leading modes of x."""

    def draw(rng: Random) -> tuple:
        hidden, features = rng.randint(3, 20), judge.PIECE * rng.randint(3, 9)
        shapes = (features, hidden), (features, hidden), (hidden, features), (*rows, hidden)
        *weights, x = judge.draw_tensors(rng, *shapes, dtype=dtype)
        return weights, x, rng.uniform(0.5, 2.0)

    def expected(weights: "list[Tensor]", x: "Tensor", factor: float) -> Record:
        gate, up, down = weights
        gate_up = resolve_name(f"{KERNELS}.{LAYER}:interleave")(gate, up)
        return {
            "number of calls of gated_linear": 1,
            "gate_up": gate_up,
            "the tensor that gated_linear gets": "a parameter",
            "result": judge.product(factor, x, gate_up) @ down.mT,
            "numbers in all parameters": 3 * gate.numel(),
            "plain.down_proj.weight": "a parameter",
            "gradients": "of all parameters and x",
        }

    return recorded(name, judge.gated_module, draw, expected)


SHAPES = ((65, 104, 40), (130, 72, 96), (64, 64, 64))  # 2×2 tiles with edges everywhere, 3×2, and one that fits
WHOLE = SHAPES[2:]
FITTING = ((64, 128, 32),)  # what is not about edges is simulated without them, in a tenth of the time
GATED = ((65, 128, 40), (64, 64, 64))


EXPONENTIAL = "tanh|ex2"  # one for each result is enough for GELU and for silu
KERNELS = "tutorlib.kernels"
FUSED, LAYER = "ampere.fused", "layers"

fused_exercise = partial(CuteExercise.of, shapes=SHAPES, whole=WHOLE)
EXERCISES = (
    CuteExercise.of(
        ("16.1", "gelu", 2),
        problem=gelu(),
        shapes=((512,), (4 * 777,)),
        part=inside(judge.elementwise, "op", jit=False),
        rules=(issued(EXPONENTIAL) <= 16,),
        library=of_course(FUSED, "gelu"),
    ),
    fused_exercise(
        ("16.2", "every_row", 2),
        problem=linear_gelu(),
        simulated_shapes=(*FITTING, (65, 64, 32)),  # `rows` is not always a tile's
        part=inside(judge.with_bias_matrix, "as_matrix", jit=False),
        library=of_course(FUSED, "every_row"),
    ),
    fused_exercise(
        ("16.3", "bias_gelu", 2),
        problem=linear_gelu(),
        simulated_shapes=FITTING,
        part=inside(judge.with_op, "op", jit=False),
        rules=(issued(EXPONENTIAL) <= 256,),
        library=of_course(FUSED, "bias_gelu", "gelu"),
    ),
    fused_exercise(
        ("16.4", "fetch", 4),
        problem=linear_add(),
        simulated_shapes=SHAPES[:1],
        part=inside(judge.with_fetch, "fetch", jit=False),
        rules=(issued("ld.global") <= 400, issued("bar.sync") <= 64),  # each element once, no barrier of its own
        library=of_course(FUSED, "fetch_operand"),
    ),
    fused_exercise(
        ("16.5", "largest", 4),
        problem=tile_amax((64, 64)),
        simulated_shapes=((130, 72, 40),),  # four tiles in which all warps have rows
        part=inside(judge.with_reduction, "reduce", jit=False),
        requires=("bar.sync",),
        rules=(issued("bar.sync") <= 120, issued("shfl") <= 270),  # one barrier and five shuffles take 120 and 144
        library=of_course(FUSED, "largest"),
    ),
    case_exercise(
        ("16.6", "interleaving", 2),
        interleaves("pieces of 8, as on Hopper", ((16, 8), (32, 8), (14336, 8)), (8,)),
        interleaves("pieces of 32, as here", ((64, 32), (160, 32)), (32,)),
        interleaves("single rows, and one piece", ((6, 1), (4, 2), (24, 24)), (1, 2, 3)),
    ),
    CuteExercise.of(
        ("16.7", "gated", 3),
        problem=linear_swiglu(32),
        shapes=GATED,
        whole=GATED[1:],
        part=inside(judge.with_gate, "activate", jit=False),
        rules=(issued(EXPONENTIAL) <= 256,),
        library=of_course(FUSED, "gated", "gate_and_up", "swiglu", "silu"),
    ),
    case_exercise(
        ("16.8", "linear_backward", 3),
        differentiates((6, 4), (3, 4)),
        differentiates((2, 5, 8), (8, 8)),
        differentiates((2, 3, 4, 5), (7, 5)),
        differentiates((2, 5, 8), (4, 8)),
    ),
    case_exercise(
        ("16.9", "linear_fake", 2),
        fakes("a matrix", 2),
        fakes("a batch of them, bf16", 4, "bfloat16"),
        fakes("on another device", 2, device="meta"),
        fakes("sizes that are unknown", 3, symbols=True),
        library=of_course(LAYER, "linear", "linear_fake"),
    ),
    case_exercise(("16.10", "use_kernels", 3), *map(swaps, judge.MODELS), library=of_course(LAYER, "use_kernels")),
    case_exercise(
        ("16.11", "shard", 3),
        shards("one GPU, and two", 1, 2),
        shards("four GPUs", 4),
        shards("features that do not divide", 4, 0),
    ),
    case_exercise(
        ("16.12", "linear_gelu_backward", 3),
        differentiates((6, 4), (3, 4), biased=True),
        differentiates((2, 3, 4, 5), (7, 5), biased=True),
        differentiates((2, 5, 8), (8, 8), biased=True, scale=30.0),
        differentiates((2, 5, 8), (4, 8), biased=True),
    ),
    case_exercise(("16.13", "register", 4), *map(registers, judge.CALLERS)),
    case_exercise(
        ("16.14", "GatedMLP", 3),
        gates("an MLP", (2, 5), "float64"),
        gates("an MLP in bf16, and a matrix", (5,), "bfloat16"),
        library=of_course(LAYER, "interleave", "FusedMLP.__init__"),
    ),
)
