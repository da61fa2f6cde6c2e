"""The sizes at which GEMMs are tried, and the tile of C that a block computes."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tutorlib.checking.library_use import InModule
from tutorlib.compiling.spec import DType
from tutorlib.exercises.words import wrong_results
from tutorlib.machine import device
from tutorlib.problems.problem import Shape, torch_dtype
from tutorlib.problems.wrong_result import WrongResult, mistakes_along_k

if TYPE_CHECKING:
    from torch import Tensor


WHOLE = ((64, 64, 64), (128, 96, 48))  # multiples of the tile

SMALL = (*WHOLE, (136, 72, 40), (65, 97, 49))  # the last: one more than multiples of the tile

BENCH = (4096, 4096, 4096)

BENCH_FP8 = (320, 32576, 7168)


def tiles(shape: Shape, tm: int, tn: int) -> tuple[int, int]:
    return -(-shape[0] // tm), -(-shape[1] // tn)


def blocks_at_once(shape: Shape, most: int) -> tuple[int]:
    """The grid of a persistent kernel: one block for each SM; for small matrices so few that one of them has more to do
    than the others."""
    gpu = device.gpu()
    return (min(most, gpu.sms) if gpu and shape in (BENCH, BENCH_FP8) else max(1, min(most - 1, 3)),)


# 07.1 and 07.4: the tile of C that a block computes -------------------------------------------------------------------


def plain_tile(shape: Shape) -> tuple[int, int, int]:
    """tm, tn and tk: different sizes, so that one in another's place shows."""
    return (128, 128, 64) if shape == BENCH else (64, 32, STEP)


def factor_tiles(shape: Shape) -> dict[int, int]:
    """The elements of a tile of A and of one of B, (tm, tk) and (tn, tk)."""
    tm, tn, tk = plain_tile(shape)
    return {0: tm * tk, 1: tn * tk}


def loads_of_tiles(shape: Shape) -> dict[int, int]:
    """The elements of A and of B that all blocks load, if each tile of C takes its rows of both once."""
    m, n, k = shape[-3:]
    rows, columns = tiles((m, n), *plain_tile(shape)[:2])
    return {0: columns * m * k, 1: rows * n * k}


def products_of_tiles(shape: Shape) -> int:
    """The products that all steps of all tiles of C take, padding included."""
    return padded(shape[-3:], plain_tile(shape))


def padded(sizes: Shape, sides: Shape) -> int:
    """The product of the sizes, each rounded up to a multiple of its side."""
    return math.prod(-(-size // side) * side for size, side in zip(sizes, sides, strict=True))


def group_of(shape: Shape) -> int:
    """Rows of tiles in a strip."""
    return 8 if shape == BENCH else 2


def persistent_blocks(shape: Shape) -> tuple[int]:
    return blocks_at_once(shape, math.prod(tiles(shape, *plain_tile(shape)[:2])))


STEP = 16  # along K

COURSE_GEMMS = {
    name: InModule(f"tutorlib.kernels.cutile.{module}", name)
    for module, names in {
        "gemm": ("plain", "persistent"),
        "fp8": ("tiled", "slabs", "straight_slabs"),
    }.items()
    for name in names
}

TILE_OF_PRODUCT = {"tile_of_product": InModule("tutorlib.kernels.cutile.gemm", "tile_of_product")}


def cut_short(shape: Shape) -> tuple[WrongResult, ...]:
    """Mistakes of the walk along K."""
    return mistakes_along_k(shape[-1], STEP, "ct.mma")


def cut_otherwise(shape: Shape) -> tuple[WrongResult, ...]:
    """Mistakes in dividing K among parts."""
    import torch

    parts, depth = shape[0], shape[-1]
    steps = -(-depth // STEP)

    def added(part_of: "Callable[[Tensor], Tensor]") -> "Callable[[Tensor, Tensor], Tensor | None]":
        """part_of: the number of a step → of the part that adds it up."""
        if steps <= parts:
            return lambda a, b: None  # a step for each part, whichever way
        of = part_of(torch.arange(depth) // STEP)
        return lambda a, b: torch.stack([a[:, of == part] @ b[:, of == part].mT for part in range(parts)])

    return wrong_results(
        "07.8",
        all_of_k=lambda a, b: (a @ b.mT).expand(shape[:3]),
        every_sth_step=added(lambda step: step % parts),
        rounded_down=added(lambda step: step // (steps // parts)),
    )


def through(shape: Shape) -> tuple[WrongResult, ...]:
    """Factors in another dtype than tf32; and the mistakes of the walk."""

    def rounded_to(name: DType) -> "Callable[[Tensor, Tensor], Tensor]":
        return lambda a, b: a.to(torch_dtype(name)).double() @ b.to(torch_dtype(name)).double().mT

    return (
        *wrong_results("07.6", operands_in_bf16=rounded_to("bf16"), factors_in_fp16=rounded_to("fp16")),
        *cut_short(shape),
    )
