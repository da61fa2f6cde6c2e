"""Exercises of notebook 20: what is kept and replayed, starts early; PTX of one's own."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import issued
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import inside
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.scenario import Record, record_of, recorded
from tutorlib.checking.values import Case
from tutorlib.exercises.judges import p20 as judge
from tutorlib.exercises.values import case_exercise
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.compiled_once import cache_key
from tutorlib.machine.features import TMA
from tutorlib.problems.differences import Wrong
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Generator, Tensor


# 20.1: calls whose keys are compared ------------------------------------------------------------------------------


def matrix(rows: int = 8, columns: int = 64, dtype: str = "float16", pitch: int = 0, skip: int = 0) -> "Tensor":
    """Row-major, its rows `pitch` elements apart, `skip` elements into memory that begins at a multiple of 64 bytes."""
    import torch

    pitch = pitch or columns
    memory = torch.zeros(skip + rows * pitch + 64, dtype=getattr(torch, dtype))
    memory = memory[-memory.data_ptr() % 64 // memory.element_size() :]
    return memory.as_strided((rows, columns), (pitch, 1), memory.storage_offset() + skip)


def vector(size: int = 64, dtype: str = "float16", skip: int = 0) -> "Tensor":
    return matrix(1, size, dtype, skip=skip)[0]


def layers(pitch: int = 256, of_rows: int = 64) -> "Tensor":
    """Two matrices of three rows, `pitch` elements apart."""
    return matrix(pitch=2 * pitch).as_strided((2, 3, 64), (pitch, of_rows, 1))


def given(*tensors: "Tensor", constants: tuple = (), arch: str = judge.ARCH) -> judge.Given:
    return list(tensors), constants, arch


def alike(rng: Random) -> list[judge.Given]:
    """Calls of which many share a compilation: with sizes, pitches and addresses of any number."""
    few, many = 8 * rng.randint(1, 3), 8 * rng.randint(4, 9)
    odd, longer = 2 * rng.randint(2, 20) + 1, 16 * rng.randint(5, 9)
    one, other = (matrix(columns=longer).unflatten(0, sizes) for sizes in ((2, 4), (4, 2)))
    return [
        *map(given, (matrix(few), matrix(many), matrix(columns=longer), matrix(pitch=longer + 8))),
        *map(given, (matrix(skip=8 * rng.randint(1, 3)), matrix(pitch=66), matrix(pitch=70))),
        *map(given, (vector(dtype="float32", skip=1), vector(dtype="float32", skip=3), matrix(dtype="int16"))),
        *map(given, (one, other.transpose(0, 1), matrix(few, 64).T, matrix(many, 64).T)),
        *(given(vector(length), vector(length)) for length in (longer, odd)),
        *(given(vector(), constants=(few, "relu")) for _ in range(2)),
    ]


def dtypes(rng: Random) -> list[judge.Given]:
    rows, columns = 4 * rng.randint(1, 4), 16 * rng.randint(1, 9)
    names = "float16", "bfloat16", "int16", "float32", "int32"
    half, single = matrix(rows, columns), matrix(rows, columns, "float32")
    alone = [given(matrix(rows, columns, name)) for name in names]
    return [*alone, given(matrix()), given(half, single), given(single, half), given(half, half), given(half, matrix())]


def layouts(rng: Random) -> list[judge.Given]:
    side, rows = 8 * rng.randint(4, 40), 4 * rng.randint(1, 9)
    square, tall = matrix(side, side), matrix(rows, side).T
    alone = square, square.T, vector(side), tall, tall.unflatten(1, (2, -1))
    return [*map(given, alone), given(square, square), given(square, square.T), given(vector(), vector(side))]


def alignments(rng: Random) -> list[judge.Given]:
    skip, width, more = rng.choice((1, 2, 3, 5, 6, 7)), 8 * rng.choice((7, 9, 11)), rng.choice((2, 4))
    moved, stretched = matrix(skip=skip), matrix(pitch=64 + more)
    alone = matrix(), moved, stretched, matrix(8, width).T, matrix(8, width + more).T
    beside_it = matrix(), stretched, moved
    of_three = layers(), layers(256, 64 + more), layers(256 + more, 64)
    return [*map(given, alone + of_three), *(given(matrix(), one) for one in beside_it), given(moved, matrix())]


def others(rng: Random) -> list[judge.Given]:
    """Calls with other constants, or for another architecture."""
    one, other = rng.sample(range(2, 256), 2)
    constants = (one, "relu"), (other, "relu"), (one, "gelu"), (one, other), (other, one)
    alike_to_python = (-1,), (-2,), (2,), (2.0,), (1,), (True,)  # -1 and -2 have one hash
    architectures = judge.ARCH, judge.ARCH, judge.ARCH.rstrip("a"), rng.choice(("sm_80", "sm_89")), "sm_100a", "sm_103a"
    return [
        *(given(vector(), constants=these) for these in constants + alike_to_python),
        *(given(vector(), arch=arch) for arch in architectures),
    ]


class KeyFlaw(FailureKind):
    """Errors in keys."""

    TOO_COARSE = "one key for two compilations"
    TOO_FINE = "two keys for one compilation"


def keys_case(name: str, draw: Callable[[Random], list[judge.Given]]) -> Case:
    """Right when the keys of any two of these calls are equal where the course's are."""

    def judged(served: Served) -> Wrong | None:
        calls = draw(rng_of_run(17))
        numbers, wrong = record_of(served, judge.numbered_keys, calls)
        if wrong:
            return wrong
        keyed = zip(calls, numbers, (cache_key(*call) for call in calls), strict=True)
        for (one, mine, key), (other, its, its_key) in combinations(keyed, 2):
            if (mine == its) is not (key == its_key):
                what = f"the calls with {judge.described(one)} and with {judge.described(other)} "
                if key == its_key:
                    return Wrong(Flaw(what + "share a compilation, and have two keys.", KeyFlaw.TOO_FINE))
                return Wrong(Flaw(what + "need two compilations, and have one key.", KeyFlaw.TOO_COARSE))
        return None

    return Case(name, judged)


# Cases of 20.2: what happens in calls.


def graphs(name: str, kinds: str, *parts: str) -> Case:
    """kinds: of the calls, as `judge.vectors` has them. parts: of the record, which are compared."""

    def draw(rng: Random) -> tuple:
        return rng.randint(2, 8), judge.vectors(rng, kinds)

    def expected(n: int, calls: "list[Tensor]") -> Record:
        of = {f"call {nth}": kind for nth, kind in enumerate(kinds, 1)}
        results = dict(zip(of, (n**judge.LAUNCHES * x for x in calls), strict=True))
        record = {
            "error": "",
            "number of compilations": len({kind.islower() for kind in kinds}),
            "launches in each graph": ", ".join([str(judge.LAUNCHES)] * len(set(kinds))),
            "tensors of the caller that it writes to": "none",
            "events of a call": {nth: "replay" for n, (nth, kind) in enumerate(of.items()) if kind in kinds[:n]},
            "y": results,
            "y after all calls": {f"{len(y)} numbers in {y.dtype}": y for y in results.values()},
        }
        return {part: what for part, what in record.items() if part in ("error", *parts)}

    return recorded(name, judge.graph_calls, draw, expected)


PAIR = Problem(
    name="positive_times_weights",
    dims="RN",
    inputs=(Operand("x", "RN", "fp32"), Operand("w", "RN", "fp32"), Operand("batch", "RN", "fp32", scratch=True)),
    output=Operand("y", "RN", "fp32"),
    reference=lambda x, w, batch: x.clamp(min=0) * w,
    bound=None,
)


@dataclass(frozen=True)
class OnIntegers(Problem):
    """Inputs of random int32."""

    def random(self, shape: Shape, generator: "Generator") -> "tuple[Tensor, ...]":
        import torch

        def draw(op: Operand) -> "Tensor":
            size = self.shape_of(op, shape)
            return torch.randint(-(2**31), 2**31, size, generator=generator, device=generator.device).to(torch.int32)

        return tuple(map(draw, self.inputs))


MAJORITY = OnIntegers(
    name="majority",
    dims="N",
    inputs=tuple(Operand(name, "N", "int32") for name in "abc"),
    output=Operand("y", "N", "int32"),
    reference=lambda a, b, c: (a & b) | (a & c) | (b & c),  # each bit as two or three of them have it
    bound=None,
)


EXERCISES = (
    case_exercise(
        ("20.1", "cache_key", 4),
        keys_case("dtypes", dtypes),
        keys_case("layouts", layouts),
        keys_case("alignment", alignments),
        keys_case("constants and architecture", others),
        keys_case("calls that share a compilation", alike),
        library=of_course("compiled_once", "cache_key"),
    ),
    case_exercise(
        ("20.2", "replayed", 5),
        graphs("one call", "a", "launches in each graph", "y"),
        graphs(
            "one shape",
            "aaa",
            *("launches in each graph", "tensors of the caller that it writes to", "events of a call", "y"),
        ),
        graphs("two shapes", "abab", "number of compilations", "launches in each graph", "y", "y after all calls"),
        graphs("two keys", "aAaA", "number of compilations", "launches in each graph", "y"),
    ),
    CuteExercise.of(
        ("20.3", "scale_kernel", 4),
        needs=TMA,  # PDL came with it
        problem=PAIR,
        patterned=False,
        shapes=((4, 256), (8, 128)),
        part=inside(judge.pair, "scale_kernel", jit=False),
        faults=(judge.misplaced,),
        rules=(issued("ld.global") <= 224, issued("st.global") <= 160, issued("bar.sync|bar.warp.sync") <= 0),
    ),
    CuteExercise.of(
        ("20.4", "majority, by lop3", 3),
        problem=MAJORITY,
        shapes=((1,), (1000,), (4096,)),
        dynamic=True,
        requires=("lop3",),  # "=f" for the result passes: in PTX a .b32 instruction writes any register of 32 bits
        counted=(1000,),
        rules=(issued("lop3|and.b32|or.b32|xor.b32") <= 64,),  # of 32 warps; the index takes an or.b32
        library={"cute.arch.lop3": "cutlass.cute.arch:lop3"},
    ),
)
