"""Cases of 17.3: keys of tensors."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from tutorlib.checking.graded_run import rng_of_run
from tutorlib.checking.scenario import record_of
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case
from tutorlib.exercises.n17_compile_once.judge.caches import numbered_keys
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.kernel_cache import cache_key
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


def differ(what: str, one: "Tensor | tuple[Tensor, ...]", other: "Tensor | tuple[Tensor, ...]") -> Pair:
    """Two calls with no constants for one architecture."""
    calls = [given(*(call if isinstance(call, tuple) else (call,))) for call in (one, other)]
    return what, calls[0], calls[1]


def alike(rng: Random) -> list[Pair]:
    """Calls that one compilation serves."""
    few, many = 8 * rng.randint(1, 3), 8 * rng.randint(4, 9)
    odd, longer = 2 * rng.randint(2, 20) + 1, 16 * rng.randint(5, 9)
    one, other = (matrix(columns=longer).unflatten(0, sizes) for sizes in ((2, 4), (4, 2)))
    return [
        differ("the number of rows", matrix(few), matrix(many)),
        differ("the number of columns", matrix(columns=64), matrix(columns=longer)),
        differ("the pitch of the rows", matrix(), matrix(pitch=longer)),
        differ("the pitch of the rows", matrix(), matrix(pitch=longer + 8)),
        differ("the address", matrix(), matrix(skip=8 * rng.randint(1, 3))),
        differ("an odd address", vector(dtype="float32", skip=1), vector(dtype="float32", skip=3)),
        differ("an odd pitch", matrix(pitch=66), matrix(pitch=70)),
        differ("the order of the strides that are not 1", one, other.transpose(0, 1)),
        differ("the number of columns", matrix(few, 64).T, matrix(many, 64).T),
        differ("the length", (vector(longer), vector(longer)), (vector(odd), vector(odd))),
        ("the tensors themselves", given(vector(), constants=(few, "relu")), given(vector(), constants=(few, "relu"))),
    ]


def dtypes(rng: Random) -> list[Pair]:
    of_two, of_four = (rng.sample(names, 2) for names in (["float16", "bfloat16", "int16"], ["float32", "int32"]))
    rows, columns = 4 * rng.randint(1, 4), 16 * rng.randint(1, 9)
    one, other = matrix(rows, columns, of_four[0]), matrix(rows, columns, of_two[0])
    return [
        differ("the dtype", other, matrix(rows, columns, of_two[1])),
        differ("the dtype", one, matrix(rows, columns, of_four[1])),
        differ("the second tensor's dtype", (matrix(), one), (matrix(), other)),
        differ("which tensor has which dtype", (other, one), (one, other)),
    ]


def layouts(rng: Random) -> list[Pair]:
    side, rows = 8 * rng.randint(4, 40), 4 * rng.randint(1, 9)
    square = matrix(side, side)
    return [
        differ("which mode is contiguous", square, square.T),
        differ("which mode is contiguous", (square, square), (square, square.T)),
        differ("the rank", vector(side), matrix(columns=side).T),
        differ("the rank", matrix(rows, side).T, matrix(rows, side).T.unflatten(1, (2, -1))),
        differ("how many tensors there are", vector(side), (vector(side), vector(side))),
    ]


def alignments(rng: Random) -> list[Pair]:
    skip, width, more = rng.choice((1, 2, 3, 5, 6, 7)), 8 * rng.randint(7, 12), rng.choice((2, 4))
    floats = vector(63, "float32", skip=rng.randint(1, 3))
    return [
        differ("whether 16 bytes divide the address", vector(dtype="float32"), floats),
        differ("whether 16 bytes divide the address", matrix(), matrix(skip=skip)),
        differ("whether 16 bytes divide the rows' pitch", matrix(), matrix(pitch=64 + more)),
        differ("whether 16 bytes divide the columns' pitch", matrix(8, width).T, matrix(8, width + more).T),
        differ(
            "whether 16 bytes divide the second tensor's pitch",
            (matrix(), matrix()),
            (matrix(), matrix(pitch=64 + more)),
        ),
        differ("whether 16 bytes divide the pitch of each mode", layers(), layers(256, 64 + more)),
        differ("whether 16 bytes divide the pitch of each mode", layers(), layers(256 + more, 64)),
        differ("which tensor is aligned", (matrix(), matrix(skip=skip)), (matrix(skip=skip), matrix())),
    ]


def others(rng: Random) -> list[Pair]:
    one, other = rng.sample(range(2, 256), 2)
    constants = (  # -1 and -2 have one hash
        ("a constant", (one, "relu"), (other, "relu")),
        ("a constant", (one, "relu"), (one, "gelu")),
        ("-1 and -2 as constant", (-1,), (-2,)),
        ("which constant is which", (one, other), (other, one)),
        ("2 and 2.0 as constant", (2,), (2.0,)),
        ("1 and True as constant", (1,), (True,)),
    )
    architectures = (
        (ARCH, rng.choice(("sm_80", "sm_89", "sm_100a"))),
        (ARCH, ARCH.rstrip("a")),
        ("sm_100a", "sm_103a"),
    )
    x = vector()
    return [
        *(("the architecture", given(x, arch=this), given(x, arch=that)) for this, that in architectures),
        *((what, given(x, constants=these), given(x, constants=those)) for what, these, those in constants),
    ]


class KeyFlaw(FailureKind):
    """Two calls have two keys where one compilation serves both, or one where it does not [differ: in what]."""

    TWO_KEYS = "two keys"
    ONE_KEY = "one key"


def keys_case(name: str, *kinds: Pairs) -> Case:
    """Right when the two keys of each pair are equal where the course's are; and of equal calls there is one key.

    The calls come in random order, so that the answer cannot tell which result is expected.
    """

    def judge(answer: Served) -> Wrong | None:
        rng = rng_of_run(17)
        seed = rng.getrandbits(32)
        pairs, again = ([pair for kind in kinds for pair in kind(Random(seed))] for _ in range(2))
        calls = [call for _, *both in (*pairs, *again) for call in both]
        order = rng.sample(range(len(calls)), len(calls))
        numbered, wrong = record_of(answer, numbered_keys, [calls[n] for n in order])
        if wrong:
            return wrong
        keys = dict(zip(order, numbered, strict=True))
        for n, (what, *both) in enumerate(pairs):
            one, other = (cache_key(*call) for call in both)
            if (keys[2 * n][0] == keys[2 * n + 1][0]) is not (one == other):
                said = f"Two calls differ in {what} ({'; '.join(map(described, both))}) "
                kind, why = (KeyFlaw.ONE_KEY, "and need two compilations, but the keys are equal")
                if one == other:
                    kind, why = (KeyFlaw.TWO_KEYS, "and one compilation serves both, but the keys are two")
                return Wrong(Flaw(f"{said}{why}: {keys[2 * n][1]}, {keys[2 * n + 1][1]}.", kind(differ=what)))
        for n in range(2 * len(pairs)):
            if keys[n][0] != (twice := keys[2 * len(pairs) + n])[0]:
                return Wrong(f"Two calls with {described(calls[n])} have two keys: {keys[n][1]}, {twice[1]}.")
        return None

    return Case(name, judge)


def described(call: Given) -> str:
    tensors, constants, arch = call
    said = [
        f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}:{t.stride()}"
        + (f" at 64k+{t.data_ptr() % 64}" if t.data_ptr() % 64 else "")
        for t in tensors
    ]
    return ", ".join([*said, *map(repr, constants), *([] if arch == ARCH else [arch])])


KEYED = (
    keys_case("calls that share a compilation, and others", alike, dtypes),
    keys_case("dtypes", dtypes),
    keys_case("layouts", layouts),
    keys_case("alignment", alignments),
    keys_case("constants and architecture", others),
)
