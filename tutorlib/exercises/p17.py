"""Exercises of notebook 17: what compiling costs, what is kept, structs, and PTX of one's own."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.drawn import Drawn, beside
from tutorlib.checking.facts import issued
from tutorlib.checking.library_use import InModule
from tutorlib.checking.randomness import rng_of_run
from tutorlib.checking.scenario import record_of
from tutorlib.checking.served import Served
from tutorlib.checking.values import Case, ValueExercise, equals
from tutorlib.exercises.judges.p17.caches import KEEPING, numbered_keys
from tutorlib.exercises.judges.p17.for_torch import TRIALS, compiled_once, timed_launches
from tutorlib.exercises.judges.p17.graphs import GRAPHS, timed_replays
from tutorlib.exercises.judges.p17.integers import OnIntegers
from tutorlib.exercises.judges.p17.launch_exercise import LaunchExercise
from tutorlib.exercises.judges.p17.saved_kernels import SAVING
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw
from tutorlib.kernels.compiled_once import CompiledKernels, cache_key
from tutorlib.machine.features import MMA_SYNC
from tutorlib.models.compiling import DirectCall, compilations_of, compiled_for, per_call, struct_layout
from tutorlib.problems.differences import Wrong
from tutorlib.problems.problem import Operand

if TYPE_CHECKING:
    from torch import Tensor


# Cases and mistakes of 17.1, 17.2 and 17.7: counting microseconds, compilations and bytes.

# 17.1 per_call --------------------------------------------------------------------------------------------------

TIMES = (73_000.0, 241_500.0, 1_000.0, 10.0)  # trace and compile: published for a GEMM on a B100
MOST = (100_000, 500_000, 5_000, 50)
CALLS = (1, 2, 1000)


def cost_calls(way: str) -> Drawn:
    """Calls with the published times; the grader also tries others, whose quotients are exact."""
    known = [(way, calls, *TIMES) for calls in CALLS]
    return beside(known, lambda rng: (way, 2 ** rng.randint(0, 12), *(float(rng.randint(1, n)) for n in MOST)))


COST_MISTAKES = mistakes(
    "17.1",
    all_calls=lambda way, calls, *times: calls * per_call(way, calls, *times),
    compiled_once=lambda way, *rest: per_call("kept" if way == "traced each time" else way, *rest),
    traced=lambda way, *rest: per_call("kept" if way == "loaded" else way, *rest),
    loading_is_free=lambda way, calls, trace, compile, load, launch: per_call(way, calls, trace, compile, 0.0, launch),
    one_launch=lambda way, calls, trace, compile, load, launch: per_call(way, calls, trace, compile, load, 0.0),
)

# 17.2 compilations_of ----------------------------------------------------------------------------------------------


USUAL: dict[str, Sequence[Any]] = {"dtype": ("fp32",), "align": (16,), "marked": ("layout",), "factor": (2,)}


def some_calls(**choices: Sequence[Any]) -> Drawn:
    """Six arguments of `compilations_of`: calls that differ in their sizes and in these choices."""

    def call(rng: Random) -> tuple:
        m, n = rng.choice((8, 12)), rng.choice((16, 32, 48))
        chosen = {name: rng.choice(some) for name, some in (USUAL | choices).items()}
        return tuple(DirectCall(shape=(m, n), stride=rng.choice(((n, 1), (1, m))), **chosen))

    def lists(seed: int) -> list[tuple]:
        rng = Random(seed)
        return [([call(rng) for _ in range(rng.randint(8, 16))],) for _ in range(6)]

    return Drawn(lists, 17)


COUNTED = {
    "static layouts": some_calls(marked=("static",)),
    "mark_layout_dynamic": some_calls(),
    "one dynamic mode": some_calls(marked=(0, 1)),
    "dtypes and alignments": some_calls(dtype=("fp32", "fp16", "bf16"), align=(4, 16)),
    "constants": some_calls(factor=(2, 3, 4, 5)),
    "constants that Python takes for equal": some_calls(factor=(1, 1.0, True, 2, 2.0, -1, -2)),
    "all of them": some_calls(marked=("static", "layout", 0, 1), factor=(1, 1.0, 2)),
}


def counted(key: Callable[[DirectCall], Any]) -> Callable[[list[tuple]], int]:
    """A count of other keys."""
    return lambda calls: len({key(DirectCall(*call)) for call in calls})


def without(field: str, value: Any) -> Callable[[list[tuple]], int]:
    return counted(lambda call: compiled_for(call._replace(**{field: value})))


COUNT_MISTAKES = mistakes(
    "17.2",
    every_call=len,
    element_type_missing=without("dtype", "fp32"),
    alignment_missing=without("align", 16),
    constant_missing=without("factor", 0),
    equal_constants=counted(lambda call: (*compiled_for(call)[:4], call.factor)),  # type: ignore[index]
)

# 17.7 struct_layout ---------------------------------------------------------------------------------------------

SCALARS = [((1, 1), (8, 8), (2, 2), (4, 4)), ((4, 4), (1, 1), (1, 1), (8, 8)), ((8, 8), (4, 4))]
ARRAYS = [((6, 2), (16, 128), (4, 4)), ((24, 8), (24, 8), (32_768, 1024), (16_384, 1024))]
LAST = [((1024, 1024), (8, 8)), ((8, 8), (1, 1)), ((5, 1),), ((12, 4), (0, 8))]


def some_members(rng: Random) -> tuple:
    """An argument of `struct_layout`."""
    members = ((rng.randint(1, 99), 2 ** rng.randint(0, 8)) for _ in range(rng.randint(2, 6)))
    return (tuple(members),)


MEMBERS = {"scalars": SCALARS, "arrays and alignments": ARRAYS, "the end": LAST}


def open_ended(members: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    offsets, _ = struct_layout(members)
    return offsets, offsets[-1] + members[-1][0]


STRUCT_MISTAKES = mistakes(
    "17.7",
    size_not_rounded=open_ended,
)


# Cases of 17.3: keys of tensors.

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


def bits_of_most(a: "Tensor", b: "Tensor", c: "Tensor") -> "Tensor":
    """Each bit as two or three of a, b and c have it."""
    return (a & b) | (a & c) | (b & c)


MAJORITY = OnIntegers(
    name="majority",
    dims="N",
    inputs=tuple(Operand(name, "N", "int32") for name in "abc"),
    output=Operand("y", "N", "int32"),
    reference=bits_of_most,
    bound=None,
    baseline=lambda y, *tensors: y.copy_(bits_of_most(*tensors)),
    baseline_name="torch",
)
COURSE = "tutorlib.kernels.compiled_once"  # where the course has the same functions

EXERCISES = (
    ValueExercise(
        id="17.1",
        title="per_call",
        points=2,
        cases=tuple(
            equals(way, cost_calls(way), per_call, COST_MISTAKES)
            for way in ("nothing kept", "traced each time", "kept", "loaded")
        ),
        library={"per_call": InModule("tutorlib.models.compiling", "per_call")},
    ),
    ValueExercise(
        id="17.2",
        title="compilations_of",
        points=3,
        cases=tuple(equals(name, calls, compilations_of, COUNT_MISTAKES) for name, calls in COUNTED.items()),
        library={name: InModule("tutorlib.models.compiling", name) for name in ("compilations_of", "compiled_for")},
    ),
    ValueExercise(
        id="17.3",
        title="cache_key",
        points=4,
        cases=KEYED,
        library={"cache_key": InModule(COURSE, "cache_key")},
    ),
    ValueExercise(
        id="17.4",
        title="CompiledKernels",
        points=3,
        cases=KEEPING,
        library={"CompiledKernels": CompiledKernels.__init__},
    ),
    LaunchExercise(
        id="17.5",
        title="for_torch",
        points=5,
        needs=MMA_SYNC,
        cases=tuple(map(compiled_once, TRIALS)),
        timed=timed_launches,
        tiers=(0.25, 1.0),
        library={"for_torch": InModule(COURSE, "for_torch")},
    ),
    ValueExercise(
        id="17.6",
        title="load_or_compile",
        points=3,
        cases=SAVING,
        library={"load_or_compile": InModule(COURSE, "load_or_compile")},
    ),
    ValueExercise(
        id="17.7",
        title="struct_layout",
        points=2,
        cases=tuple(
            equals(name, beside([(members,) for members in lists], some_members), struct_layout, STRUCT_MISTAKES)
            for name, lists in MEMBERS.items()
        ),
        library={"struct_layout": InModule("tutorlib.models.compiling", "struct_layout")},
    ),
    CuteExercise(
        id="17.8",
        title="majority, by lop3",
        points=3,
        problem=MAJORITY,
        shapes=((1,), (1000,), (4096,)),
        dynamic=True,
        requires=("lop3",),  # "=f" for the result passes: in PTX a .b32 instruction writes any register of 32 bits
        counted=(1000,),
        rules=(issued("lop3|and.b32|or.b32|xor.b32") <= 64,),  # of 32 warps; the index takes an or.b32
        library={"cute.arch.lop3": InModule("cutlass.cute.arch", "lop3")},
    ),
    LaunchExercise(
        id="17.9",
        title="graphed",
        points=4,
        needs=MMA_SYNC,
        cases=GRAPHS,
        timed=timed_replays,
        tiers=(4.0,),
    ),
)
