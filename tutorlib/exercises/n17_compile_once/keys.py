"""Cases of 17.3: keys of tensors."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.graded_run import for_points
from tutorlib.checking.randomness import fresh_rng
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, attempt
from tutorlib.exercises.n17_compile_once.judge.caches import numbered_key
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.wrong import Wrong

if TYPE_CHECKING:
    from torch import Tensor

ARCH = "sm_90a"
Given = tuple["list[Tensor]", tuple, str]  # what cache_key takes
Pair = tuple[str, Given, Given]  # what differs, and the two
Pairs = Callable[[Random], list[Pair]]


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


def given(*tensors: "Tensor", constants: tuple = (), arch: str = ARCH) -> Given:
    return list(tensors), constants, arch


def alike(rng: Random) -> list[Pair]:
    """Calls that one compilation serves."""
    few, many = 8 * rng.randint(1, 3), 8 * rng.randint(4, 9)
    odd, longer = 2 * rng.randint(2, 20) + 1, 16 * rng.randint(5, 9)
    return [
        ("the number of rows", given(matrix(few)), given(matrix(many))),
        ("the number of columns", given(matrix(columns=64)), given(matrix(columns=longer))),
        ("the pitch of the rows", given(matrix()), given(matrix(pitch=longer))),
        ("the pitch of the rows", given(matrix()), given(matrix(pitch=longer + 8))),
        ("the address", given(matrix()), given(matrix(skip=8 * rng.randint(1, 3)))),
        ("an odd address", given(vector(dtype="float32", skip=1)), given(vector(dtype="float32", skip=3))),
        ("an odd pitch", given(matrix(pitch=66)), given(matrix(pitch=70))),
        (
            "the order of the strides that are not 1",
            given(matrix(columns=longer).unflatten(0, (2, 4))),
            given(matrix(columns=longer).unflatten(0, (4, 2)).transpose(0, 1)),
        ),
        ("the number of columns", given(matrix(few, 64).T), given(matrix(many, 64).T)),
        ("the length", given(vector(longer), vector(longer)), given(vector(odd), vector(odd))),
        ("the tensors themselves", given(vector(), constants=(few, "relu")), given(vector(), constants=(few, "relu"))),
    ]


def dtypes(rng: Random) -> list[Pair]:
    of_two, of_four = (rng.sample(names, 2) for names in (["float16", "bfloat16", "int16"], ["float32", "int32"]))
    rows, columns = 4 * rng.randint(1, 4), 16 * rng.randint(1, 9)
    one, other = matrix(rows, columns, of_four[0]), matrix(rows, columns, of_two[0])
    return [
        ("the dtype", given(other), given(matrix(rows, columns, of_two[1]))),
        ("the dtype", given(one), given(matrix(rows, columns, of_four[1]))),
        ("the second tensor's dtype", given(matrix(), one), given(matrix(), other)),
        ("which tensor has which dtype", given(other, one), given(one, other)),
    ]


def layouts(rng: Random) -> list[Pair]:
    side, rows = 64 * rng.randint(1, 3), 4 * rng.randint(1, 4)
    return [
        ("which mode is contiguous", given(matrix(side, side)), given(matrix(side, side).T)),
        (
            "which mode is contiguous",
            given(matrix(side, side), matrix(side, side)),
            given(matrix(side, side), matrix(side, side).T),
        ),
        ("the rank", given(vector(side)), given(matrix(columns=side).T)),
        ("the rank", given(matrix(rows, side).T), given(matrix(rows, side).T.unflatten(1, (2, -1)))),
        ("how many tensors there are", given(vector(side)), given(vector(side), vector(side))),
    ]


def alignments(rng: Random) -> list[Pair]:
    skip, width = rng.choice((1, 2, 3, 5, 6, 7)), 8 * rng.randint(7, 12)
    odd = width + rng.choice((2, 4, 6))
    return [
        (
            "whether 16 bytes divide the address",
            given(vector(dtype="float32")),
            given(vector(63, "float32", skip=rng.randint(1, 3))),
        ),
        ("whether 16 bytes divide the address", given(matrix()), given(matrix(skip=skip))),
        ("whether 16 bytes divide the rows' pitch", given(matrix()), given(matrix(pitch=64 + rng.choice((2, 4, 6))))),
        ("whether 16 bytes divide the columns' pitch", given(matrix(8, width).T), given(matrix(8, odd).T)),
        (
            "whether 16 bytes divide the second tensor's pitch",
            given(matrix(), matrix()),
            given(matrix(), matrix(columns=odd)),
        ),
        (
            "whether 16 bytes divide the pitch of each mode",
            given(layers()),
            given(layers(256, 64 + rng.choice((2, 4)))),
        ),
        (
            "whether 16 bytes divide the pitch of each mode",
            given(layers()),
            given(layers(256 + rng.choice((2, 4)), 64)),
        ),
        ("which tensor is aligned", given(matrix(), matrix(skip=skip)), given(matrix(skip=skip), matrix())),
    ]


def others(rng: Random) -> list[Pair]:
    one, other = rng.sample(range(2, 256), 2)
    architecture = rng.choice(("sm_80", "sm_89", "sm_100a"))
    return [
        ("the architecture", given(vector()), given(vector(), arch=architecture)),
        ("the architecture", given(vector()), given(vector(), arch=ARCH.rstrip("a"))),  # has no wgmma
        ("the architecture", given(vector(), arch="sm_100a"), given(vector(), arch="sm_103a")),
        ("a constant", given(vector(), constants=(one, "relu")), given(vector(), constants=(other, "relu"))),
        ("a constant", given(vector(), constants=(one, "relu")), given(vector(), constants=(one, "gelu"))),
        ("-1 and -2 as constant", given(vector(), constants=(-1,)), given(vector(), constants=(-2,))),  # of one hash
        ("which constant is which", given(vector(), constants=(one, other)), given(vector(), constants=(other, one))),
        ("2 and 2.0 as constant", given(vector(), constants=(2,)), given(vector(), constants=(2.0,))),
        ("1 and True as constant", given(vector(), constants=(1,)), given(vector(), constants=(True,))),
    ]


KINDS = (alike, dtypes, layouts, alignments, others)


class KeyFlaw(FailureKind):
    """Two calls have two keys where one compilation serves both, or one where it does not [differ: in what]."""

    TWO_KEYS = "two keys"
    ONE_KEY = "one key"


def keys_case(name: str, pairs: Pairs, equal: bool, unlike: Pairs | None = None) -> Case:
    """Right when the two keys of each pair are equal, or when none are; and of equal calls there is one key.

    unlike: pairs whose keys are to differ all the same; with them one key for all calls is wrong.

    When points are given, the calls come in random order, among other pairs, so that the answer cannot tell which
    result is expected.
    """

    def judge(answer: Served) -> Wrong | None:
        rng, numbered = fresh_rng(), answer.through(numbered_key)
        tried, again = pairs(Random(0)), pairs(Random(0))
        besides: list[Pair] = []
        if for_points():
            tried += pairs(rng)
            besides = [pair for kind in KINDS if kind is not pairs for pair in kind(rng)]
        expected = [equal] * len(tried)
        if unlike:
            tried += unlike(rng if for_points() else Random(0))
            expected += [False] * (len(tried) - len(expected))
        asked = [call for _, *calls in (*tried, *again, *besides) for call in calls]
        order = [*range(len(asked))]
        if besides:
            rng.shuffle(order)
        given: dict[int, tuple[Any, Wrong | None]] = {n: attempt(numbered, asked[n]) for n in order}
        for n, (what, *calls) in enumerate(tried):
            keys, wrongs = zip(given[2 * n], given[2 * n + 1], strict=True)
            if wrong := next(filter(None, wrongs), None):
                return wrong
            if (keys[0][0] == keys[1][0]) is not expected[n]:
                said = f"{calls_differ(what, *calls)} {verdict(expected[n])}: {keys[0][1]}, {keys[1][1]}."
                return Wrong(Flaw(said, (KeyFlaw.TWO_KEYS if expected[n] else KeyFlaw.ONE_KEY)(differ=what)))
        for n in range(2 * len(again)):
            if given[n][0] != (twice := given[2 * len(tried) + n][0]):
                return Wrong(f"Two calls with {described(asked[n])} have two keys: {given[n][0][1]}, {twice[1]}.")
        return None

    return Case(name, judge)


def calls_differ(what: str, one: Given, other: Given) -> str:
    return f"Two calls differ in {what} ({described(one)}; {described(other)})"


def verdict(equal: bool) -> str:
    if equal:
        return "and one compilation serves both, but the keys are two"
    return "and need two compilations, but the keys are equal"


def described(call: Given) -> str:
    tensors, constants, arch = call
    said = [
        f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}:{t.stride()}"
        + (f" at 64k+{t.data_ptr() % 64}" if t.data_ptr() % 64 else "")
        for t in tensors
    ]
    return ", ".join([*said, *map(repr, constants), *([] if arch == ARCH else [arch])])
