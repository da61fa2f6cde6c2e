"""Cases of 17.3 and 17.4: keys of tensors, and what keeps compiled functions by them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.values import Case, attempt
from tutorlib.problems.wrong import Wrong, count

if TYPE_CHECKING:
    from torch import Tensor

# 17.3 cache_key -------------------------------------------------------------------------------------------------

ARCH = "sm_90a"
Given = tuple["list[Tensor]", tuple, str]  # what cache_key takes
Pair = tuple[str, Given, Given]  # what differs, and the two


def matrix(rows: int = 8, columns: int = 64, dtype: str = "float16", pitch: int = 0, skip: int = 0) -> "Tensor":
    """Row-major, its rows `pitch` elements apart, `skip` elements into memory that begins at a multiple of 64 bytes."""
    import torch

    pitch = pitch or columns
    memory = torch.zeros(skip + rows * pitch + 64, dtype=getattr(torch, dtype))
    memory = memory[-memory.data_ptr() % 64 // memory.element_size() :]
    return memory.as_strided((rows, columns), (pitch, 1), memory.storage_offset() + skip)


def vector(size: int = 64, dtype: str = "float16", skip: int = 0) -> "Tensor":
    return matrix(1, size, dtype, skip=skip)[0]


def given(*tensors: "Tensor", constants: tuple = (), arch: str = ARCH) -> Given:
    return list(tensors), constants, arch


def alike() -> list[Pair]:
    """Calls that one compilation serves."""
    return [
        ("the number of rows", given(matrix(8)), given(matrix(24))),
        ("the number of columns", given(matrix(columns=64)), given(matrix(columns=128))),
        ("the pitch of the rows", given(matrix()), given(matrix(pitch=96))),
        ("the pitch of the rows", given(matrix()), given(matrix(pitch=72))),
        ("the address", given(matrix()), given(matrix(skip=8))),
        ("the number of columns", given(matrix(8, 64).T), given(matrix(16, 64).T)),
        ("the length", given(vector(64), vector(64)), given(vector(7), vector(7))),
        ("the tensors themselves", given(vector(), constants=(64, "relu")), given(vector(), constants=(64, "relu"))),
    ]


def dtypes() -> list[Pair]:
    return [
        ("the dtype", given(matrix(dtype="float16")), given(matrix(dtype="bfloat16"))),
        ("the dtype", given(matrix(dtype="float32")), given(matrix(dtype="int32"))),
        (
            "the second tensor's dtype",
            given(matrix(), matrix(dtype="float32")),
            given(matrix(), matrix(dtype="float16")),
        ),
        (
            "which tensor has which dtype",
            given(matrix(), matrix(dtype="float32")),
            given(matrix(dtype="float32"), matrix()),
        ),
    ]


def layouts() -> list[Pair]:
    return [
        ("which mode is contiguous", given(matrix(64, 64)), given(matrix(64, 64).T)),
        ("which mode is contiguous", given(matrix(64, 64), matrix(64, 64)), given(matrix(64, 64), matrix(64, 64).T)),
        ("the rank", given(vector()), given(matrix().T)),
        ("the rank", given(matrix(4, 64).T), given(matrix(4, 64).T.unflatten(1, (2, 2)))),
        ("how many tensors there are", given(vector()), given(vector(), vector())),
    ]


def alignments() -> list[Pair]:
    return [
        ("whether 16 bytes divide the address", given(vector(dtype="float32")), given(vector(63, "float32", skip=1))),
        ("whether 16 bytes divide the address", given(matrix()), given(matrix(skip=1))),
        ("whether 16 bytes divide the rows' pitch", given(matrix()), given(matrix(pitch=68))),
        ("whether 16 bytes divide the columns' pitch", given(matrix(8, 64).T), given(matrix(8, 68).T)),
        (
            "whether 16 bytes divide the second tensor's pitch",
            given(matrix(), matrix()),
            given(matrix(), matrix(columns=100)),
        ),
    ]


def others() -> list[Pair]:
    return [
        ("the architecture", given(vector()), given(vector(), arch="sm_80")),
        ("a constant", given(vector(), constants=(64, "relu")), given(vector(), constants=(128, "relu"))),
        ("a constant", given(vector(), constants=(64, "relu")), given(vector(), constants=(64, "gelu"))),
        ("which constant is which", given(vector(), constants=(64, 128)), given(vector(), constants=(128, 64))),
        ("2 and 2.0 as constant", given(vector(), constants=(2,)), given(vector(), constants=(2.0,))),
        ("1 and True as constant", given(vector(), constants=(1,)), given(vector(), constants=(True,))),
    ]


def keys_case(name: str, pairs: Callable[[], list[Pair]], equal: bool) -> Case:
    """Right when the two keys of each pair are equal, or when none are."""

    def judge(answer: Answer) -> Wrong | None:
        for what, one, other in pairs():
            keys = []
            for call in (one, other):
                key, wrong = attempt(answer, call)
                if wrong:
                    return wrong
                try:
                    hash(key)
                except TypeError as error:
                    return Wrong(f"{key!r} cannot be the key of a dictionary: {error}.", "Tuples can, lists cannot.")
                keys.append(key)
            if (keys[0] == keys[1]) is not equal:
                return Wrong(f"{calls_differ(what, one, other)} {verdict(equal)}: {keys[0]!r}, {keys[1]!r}.")
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


# 17.4 CompiledKernels -------------------------------------------------------------------------------------------


class Compiler:
    """Stands for the compiler: what it makes returns which one it is, and what it was called with."""

    def __init__(self, failures: int = 0) -> None:
        self.made: list[tuple] = []
        self.failures = failures

    def __call__(self, *tensors: Any) -> Callable[..., tuple]:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("it does not compile")
        number = len(self.made)
        self.made.append(tensors)
        return lambda *given: (number, *map(id, given))


def by_length(*tensors: Any) -> tuple:
    """A key: the lengths of lists, which stand for tensors."""
    return tuple(map(len, tensors))


Problem = Callable[[Answer], str]


def keeping_case(name: str, problem: Problem) -> Case:
    """problem: takes the answer, returns what is wrong as a sentence, or ""."""

    def judge(answer: Answer) -> Wrong | None:
        said, wrong = attempt(problem, (answer,))
        if wrong:
            return Wrong(wrong.what.partition(" raised ")[2] or wrong.what)
        return Wrong(said) if said else None

    return Case(name, judge)


def make(answer: Answer, compiler: Compiler, key: Callable[..., Any] = by_length) -> Answer:
    kernels = answer(compiler, key)
    if not callable(kernels):
        raise WrongKind("CompiledKernels(compile, key) should give something that is called with tensors.")
    return kernels


def calls(answer: Answer) -> str:
    compiler = Compiler()
    kernels = make(answer, compiler)
    if compiler.made:
        return "Something is compiled before there was a call."
    x, y = [1.0, 2.0], [3.0, 4.0, 5.0]
    got = kernels(x, y)
    if compiler.made != [(x, y)]:
        return f"After one call the compiler was called {count(len(compiler.made), 'time')}; once, with the tensors."
    if got != (0, id(x), id(y)):
        return "A call should return what the compiled function returns when it is called with the same tensors."
    other = [6.0, 7.0]
    if kernels(other, y) != (0, id(other), id(y)):
        return "A second call with the same key should call the kept function with its own tensors."
    return ""


def once_for_each(answer: Answer) -> str:
    compiler = Compiler()
    kernels = make(answer, compiler)
    lengths = [*range(40), *range(40), 7, 39, 0]
    got = [kernels([0.0] * n)[0] for n in lengths]
    if len(compiler.made) != 40:
        return f"{len(lengths)} calls with 40 different keys were compiled {len(compiler.made)} times."
    if got != lengths:
        return "A call got the function that was compiled for another key."
    return ""


def equal_keys(answer: Answer) -> str:
    compiler = Compiler()
    keys = (None, 0, 0, -1, -2)  # the last two have one hash
    kernels = make(answer, compiler, lambda *tensors: keys[len(tensors) - 1])
    numbers = [kernels(*[[0.0]] * n)[0] for n in (1, 1, 2, 3, 4, 5)]
    if len(compiler.made) != 4 or numbers != [0, 0, 1, 1, 2, 3]:
        made = count(len(compiler.made), "compilation")
        return f"With the keys None, None, 0, 0, -1, -2 there are {made}; any key is a key, and these are four."
    return ""


def two_of_them(answer: Answer) -> str:
    first, second = Compiler(), Compiler()
    one, other = make(answer, first), make(answer, second)
    one([0.0])
    other([0.0])
    if len(second.made) != 1:
        return "Two CompiledKernels share what they keep: the second did not use its own compiler."
    return ""


def after_a_failure(answer: Answer) -> str:
    compiler = Compiler(failures=1)
    kernels = make(answer, compiler)
    try:
        kernels([0.0])
    except RuntimeError:
        pass
    else:
        return "Where the compiler raises, the call should raise, too."
    if kernels([0.0])[0] != 0 or len(compiler.made) != 1:
        return "After a compilation that failed the next call should compile again."
    return ""
