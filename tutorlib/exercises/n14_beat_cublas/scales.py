"""How dequantized matrices are judged: by the first element that is off, its block and its scale."""

from functools import partial
from itertools import chain
from math import ceil
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer
from tutorlib.checking.graded_run import more_for_points
from tutorlib.checking.values import Case, law
from tutorlib.models.hopper_gemm import Pair, dequantize
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor


def quantised(rows: int, columns: int, block: Pair, seed: int) -> tuple:
    """(x in e4m3, a scale for each block, block)."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator).to(torch.float8_e4m3fn)
    return x, torch.rand(ceil(rows / block[0]), ceil(columns / block[1]), generator=generator) + 0.5, block


def is_dequantized(want: "Tensor", got: Any, x: "Tensor", scales: "Tensor", block: Pair) -> str | None:
    """want: computed before the answer got x and scales."""
    import torch

    if not isinstance(got, torch.Tensor):
        return "it should be a tensor"
    if got.shape != x.shape:
        return f"it should have the shape {tuple(x.shape)}"
    if got.dtype not in (torch.float32, torch.float64):
        return "a reference needs fp32 or more: scales times e4m3 have more bits than bf16 or e4m3 can hold"
    wrong = ~torch.isclose(got.float(), want, rtol=1e-6, atol=0)
    if not wrong.any():
        return None
    if not torch.equal(dequantize(x, scales, block), want):
        return "and has changed x or scales, which are the caller's"
    row, column = wrong.nonzero()[0].tolist()
    at = row // block[0], column // block[1]
    return (
        f"element ({row}, {column}) is {got[row, column]:.4g}; it is {float(x[row, column]):.4g} in block {at}, whose "
        f"scale is {scales[at]:.4g}, so {want[row, column]:.4g}"
    )


def dequantizes(name: str, *sizes: tuple[int, int, Pair]) -> Case:
    """The grader also tries matrices of other sizes and numbers, with the same blocks."""

    def others(rng: Random) -> list[tuple[int, int, Pair, int]]:
        return [(m + rng.randint(0, m), n + rng.randint(0, n), block, rng.getrandbits(32)) for m, n, block in sizes]

    def judge(answer: Answer) -> Wrong | None:
        known = [(*size, seed) for seed, size in enumerate(sizes)]
        for one in chain(known, *more_for_points(others, 1)):
            call = quantised(*one)
            if found := law(name, [call], partial(is_dequantized, dequantize(*call))).judge(answer):
                return found
        return None

    return Case(name, judge)
