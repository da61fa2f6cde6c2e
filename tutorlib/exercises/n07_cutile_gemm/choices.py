"""07.3 and 07.5: hints, and configurations that fit."""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from random import Random

from tutorlib.checking.values import equals, plain, same
from tutorlib.exercises.words import mistakes
from tutorlib.kernels.cutile.gemm import ACCUMULATORS, LEAST, SMEM, STAGES, Config, compiled

# 07.3 hints -------------------------------------------------------------------------------------------------------


DEPTH = 32  # along K; the compiler is fastest here


@cache
def stack_bytes(tm: int, tn: int, num_ctas: int, num_worker_warps: int | None) -> int:
    return compiled(Config(tm, tn, DEPTH, num_ctas=num_ctas, num_worker_warps=num_worker_warps)).stack_bytes


def no_spill(got: object, tm: int, tn: int) -> str | None:
    if not isinstance(got, dict):
        return 'it should give a dict, such as {"num_ctas": 2}'
    if unknown := sorted(set(got) - {"num_ctas", "num_worker_warps"}):
        return f"the hints to choose are num_ctas and num_worker_warps, not {unknown[0]}"
    num_ctas, warps = plain(got.get("num_ctas", 1)), plain(got.get("num_worker_warps"))
    if not any(same(num_ctas, n) for n in (1, 2, 4, 8, 16)) or not any(same(warps, n) for n in (None, 4, 8)):
        return "num_ctas is 1, 2, 4, 8 or 16, and num_worker_warps 4 or 8"
    if stack := stack_bytes(tm, tn, num_ctas, warps):
        return f"compiled for sm_90 with tk = {DEPTH}, each thread keeps {stack:,} bytes on its stack"
    threads = num_ctas * (warps or 4) * 32
    if tm * tn <= 128 * ACCUMULATORS and threads > 128:
        return f"{tm}×{tn} needs no hint, and with them each thread has little to do"
    if tm * tn < LEAST * threads:
        return f"each of {threads:,} threads holds {tm * tn // threads} accumulators, and has little to do"
    return None


# 07.5 fits --------------------------------------------------------------------------------------------------------


def fits(tm: int, tn: int, tk: int, element_bytes: int, num_ctas: int, warps: int, occupancy: int) -> bool:
    return Config(tm, tn, tk, num_ctas=num_ctas, num_worker_warps=warps, occupancy=occupancy).fits(element_bytes)


def without(part: str) -> Callable[..., bool]:
    """`fits` that leaves one thing out of account."""

    def wrong(tm: int, tn: int, tk: int, element_bytes: int, num_ctas: int, warps: int, occupancy: int) -> bool:
        shared = (tm + tn) * tk * (1 if part == "bytes" else element_bytes) * (1 if part == "stages" else STAGES)
        shared *= 1 if part == "occupancy" else occupancy
        registers = math.ceil(tm * tn / (num_ctas * warps * 32)) * (1 if part == "occupancy" else occupancy)
        return (part == "shared" or shared <= SMEM * (1 if part == "ctas" else num_ctas)) and (
            part == "registers" or registers <= ACCUMULATORS
        )

    return wrong


FITS_MISTAKES = mistakes(
    "07.5",
    elements=without("bytes"),
    tile_of_one_cta=without("ctas"),
    one_block=without("occupancy"),
    one_stage=without("stages"),
    no_tiles=without("shared"),
    no_accumulators=without("registers"),
)
fitting = partial(equals, wanted=fits, mistakes=FITS_MISTAKES)


def configs(
    tk: Sequence[int] = (32,), ctas: Sequence[int] = (1,), occupancy: Sequence[int] = (1,)
) -> Callable[[Random], tuple]:
    """Calls of `fits` with tiles of any size, some of which fit."""

    def draw(rng: Random) -> tuple:
        tm, tn = (rng.choice((64, 128, 256)) for _ in range(2))
        rest = ((1, 2, 4), ctas, (4, 8), occupancy)
        return tm, tn, rng.choice(tk), *map(rng.choice, rest)

    return draw


# tm, tn, tk, element_bytes, num_ctas, warps, occupancy; the first of a list tell the mistakes apart
REGISTERS = [(64, 64, 32, 2, 1, 4, 1), (128, 128, 64, 2, 1, 4, 1), (128, 256, 32, 2, 1, 4, 1)]

REGISTERS += [(128, 256, 32, 2, 1, 8, 1), (256, 256, 32, 2, 2, 4, 1), (256, 256, 32, 2, 2, 8, 1)]

SHARED = [(128, 128, 1024, 2, 1, 4, 1), (128, 128, 512, 1, 1, 4, 1), (64, 64, 256, 4, 1, 4, 1)]

SHARED += [(128, 128, 128, 2, 1, 4, 1), (128, 256, 128, 2, 1, 8, 1), (128, 128, 256, 1, 1, 4, 1)]

SHARED += [(64, 256, 128, 4, 1, 8, 1), (256, 64, 128, 4, 1, 8, 1)]  # one side for the other shows

PAIRS = [(256, 256, 128, 2, 2, 8, 1), (128, 256, 128, 2, 2, 8, 1), (128, 128, 256, 2, 2, 4, 1)]

PAIRS += [(256, 256, 128, 4, 2, 8, 1)]

SHARING = [(128, 128, 64, 2, 1, 4, 2), (64, 128, 64, 2, 1, 4, 2), (64, 64, 128, 4, 1, 4, 2), (64, 128, 128, 2, 1, 4, 2)]

SHARING += [(64, 64, 64, 2, 1, 4, 4), (64, 64, 64, 4, 1, 4, 4), (64, 128, 32, 2, 1, 4, 3)]

SHARING += [
    (32, 32, 128, 2, 1, 4, 7),
    (32, 16, 64, 2, 1, 4, 19),
]  # 224 and 228 KiB: KiB of 1,024 bytes, and 227 of them
