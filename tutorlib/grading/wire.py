"""Plain data, and nothing else, may cross between the judge and the sandboxed process that holds an answer.

A message is msgpack. None, truth values, numbers, texts, bytes, lists and dictionaries are its own; everything else is
a list whose first element is a tag, an extension without data whose code stands for one of KINDS. Reading a message
calls no code but this module's and the constructors of NumPy's and torch's arrays, of tensor_layouts' layouts and of
RETURNED, on plain values. NumPy is imported by the first array: most answers see none, and each kernel would import it.

The limits here are on memory. What takes the judge too long to read or to list, such as a set of numbers that all have
one hash, ends the judge, and costs its exercise (`judge_process.limited_computing`).
"""

import builtins
import ctypes
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import msgpack
from tensor_layouts import ComposedLayout, Layout, Swizzle
from tensor_layouts.layouts import LayoutError, UnsupportedComposedLayoutError

from tutorlib.checking.exercise import Unwritten, WrongKind
from tutorlib.compiling.errors import CompileFailed, shortened
from tutorlib.failure import Fault, Flaw

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**28  # bytes of a message
LONGEST_TEXT = 2**25  # bytes of one text
LONGEST_LIST = 2**20  # elements
MOST_PARTS = 2**22  # in all lists of a message
MOST_ELEMENTS = 2**26  # of an array, counted as often as its strides repeat them
LINE = 64  # bytes: tensors begin where they did, to a multiple of this
PLAIN_DTYPES = "biufcSU"  # NumPy's kinds without references
# Where the dataclasses live that an answer's process may send: what an answer returns, and evidence.
RETURNED = (
    *("tutorlib.models.", "tutorlib.kernels.", "tutorlib.layouts."),
    *("tutorlib.checking.evidence", "tutorlib.checking.cutile_evidence"),
    *("tutorlib.simulate.cutile.run", "tutorlib.simulate.ptx.findings"),
)
# And those that the judge sends, beside functions of these modules: what an answer takes, and requests for evidence.
SENT = (
    *RETURNED,
    *("tutorlib.checking.", "tutorlib.compiling.spec", "tutorlib.exercises.judges."),
)
FOR_ANSWERS = re.compile(r"tutorlib\.(checking|kernels|exercises\.judges)\b")
LONGEST_WORDS = 4000  # characters of an exception's text
OURS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (CompileFailed, Unwritten, WrongKind, LayoutError, UnsupportedComposedLayoutError)
}
FINDINGS = "tutorlib.simulate.ptx.findings"  # takes long to import
OF_SIMULATOR = {"NotSimulated": "TooManyRecords", "CannotLaunch": "CannotLaunch"}  # name → what its words alone make
MADE_OF = {  # classes whose values cross as these attributes
    range: ("start", "stop", "step"),
    Layout: ("shape", "stride"),
    Swizzle: ("bits", "base", "shift"),
    ComposedLayout: ("outer", "inner", "offset"),
}


class Opaque:
    """Stands for a value that is none of those which may cross. It equals nothing."""

    def __init__(self, kind: str = "") -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"<{self._kind or 'something'} that cannot be sent>"


class CannotCross(Exception):
    """A value is none of those which may cross, or a message is none."""


@dataclass
class Writer:
    """Turns values into messages.

    records: how the names of modules begin whose dataclasses are sent; of SENT, their functions, too, by their names.
    lenient: what cannot cross goes as Opaque; otherwise CannotCross is raised.
    """

    records: tuple[str, ...] = RETURNED
    lenient: bool = False

    def message(self, value: Any) -> bytes:
        """Raises CannotCross, and ValueError and RuntimeError for a value that is nested too deep or changes."""
        message = msgpack.packb(value, default=self.tagged, strict_types=True, unicode_errors="surrogatepass")
        if len(message) > LARGEST // 2:
            raise CannotCross("it is too large")
        return message

    def tagged(self, value: Any) -> list[Any]:
        """A value that msgpack does not have, as a list that begins with the tag of its kind."""
        kind, *parts = self.parts_of(value)
        return [TAGS[kind], *parts]

    def parts_of(self, value: Any) -> tuple[Any, ...]:
        """One of KINDS, and what the value is made of."""
        kind = type(value)
        if kind in (tuple, set, frozenset):
            return kind.__name__, *value
        if kind is int:
            return "int", hex(value)
        if kind is Flaw:
            failures = [[one.kind, [list(known) for known in sorted(one.fields)]] for one in value.failures]
            return "flaw", str(value), failures
        if kind in MADE_OF:
            return kind.__name__, *(getattr(value, name) for name in MADE_OF[kind])
        if kind.__module__ == "numpy":
            import numpy as np

            if isinstance(value, np.generic) and value.dtype.kind in PLAIN_DTYPES:
                return "scalar", value.dtype.str, value.tobytes()
            if kind is np.ndarray and value.dtype.kind in PLAIN_DTYPES:
                return "array", *parts_of_array(value)
        if is_tensor(value):
            return "tensor", *parts_of_tensor(value.detach())
        if is_dataclass(kind) and kind.__module__.startswith(self.records):
            taken = (getattr(value, one.name) for one in fields(value) if one.init)
            return "record", kind.__module__, kind.__qualname__, *taken
        if kind is FunctionType and self.records == SENT and is_for_answers(value.__module__):
            return "function", value.__module__, value.__qualname__
        if isinstance(value, Exception) and known_name(value) in (*OURS, *OF_SIMULATOR):
            return "error", *parts_of_error(value)
        if not self.lenient:
            raise CannotCross(kind.__name__)
        return "opaque", kind.__name__


def parts_of_array(value: "np.ndarray") -> list[Any]:
    """dtype, shape, strides, where the first element stands in the bytes, and these: gaps cross, too."""
    import numpy as np

    head = [value.dtype.str, list(value.shape), list(value.strides)]
    if not value.size:
        return [*head, 0, b""]
    low, high = np.lib.array_utils.byte_bounds(value)
    return [*head, value.__array_interface__["data"][0] - low, ctypes.string_at(low, high - low)]


def parts_of_tensor(value: Any) -> list[Any]:
    """dtype, shape, strides in elements, where a line of LINE bytes it begins, and the bytes, as of an array."""
    length = spanned(value.shape, value.stride()) * value.element_size()
    raw = ctypes.string_at(value.data_ptr(), length) if length else b""
    dtype = str(value.dtype).removeprefix("torch.")
    return [dtype, list(value.shape), list(value.stride()), value.data_ptr() % LINE, raw]


class Tag:
    """The first element of a list that is a value of another kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


@dataclass
class Reader:
    """Turns a message into a value.

    records: how the names of modules begin whose dataclasses are made. A module is imported to make one.
    """

    records: tuple[str, ...] = RETURNED
    parts: int = 0  # of lists, so far

    def value(self, message: bytes) -> Any:
        """Raises CannotCross where the message is none."""
        self.parts = 0
        try:
            return msgpack.unpackb(
                message,
                ext_hook=self.tag,
                list_hook=self.made,
                strict_map_key=False,
                unicode_errors="surrogatepass",
                max_str_len=LONGEST_TEXT,
                max_bin_len=LARGEST,
                max_array_len=LONGEST_LIST,
                max_map_len=LONGEST_LIST,
                max_ext_len=0,
            )
        except CannotCross:
            raise
        except Exception as error:  # what was written by hand can fail in any way
            raise CannotCross(f"{type(error).__name__} while it was read") from None

    def tag(self, code: int, data: bytes) -> Tag:
        if code < 0 or data:
            raise CannotCross("no tag")
        return Tag(KINDS[code])

    def made(self, parts: list[Any]) -> Any:
        """A list, or what its tag says."""
        self.parts += 1 + len(parts)
        if self.parts > MOST_PARTS:
            raise CannotCross("it has too many parts")
        if not parts or type(parts[0]) is not Tag:
            return parts
        return READERS[parts[0].kind](self, *parts[1:])

    def function(self, module: str, name: str) -> Any:
        """Only an answer's process, which is SENT them, looks for functions by their names."""
        if self.records != SENT or not is_for_answers(module):
            raise CannotCross(f"{module}.{name} is not for the process of an answer")
        return getattr(import_module(module), name)

    def record(self, module: str, name: str, *values: Any) -> Any:
        kind = vars(import_module(module)).get(name) if module.startswith(self.records) else None
        if not (isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module):
            raise CannotCross("no record of the course's")
        return kind(**dict(zip((one.name for one in fields(kind) if one.init), values, strict=True)))


def is_for_answers(module: str) -> bool:
    """Whether the process of an answer may call this module's functions by their names."""
    return FOR_ANSWERS.match(module) is not None


# Exceptions ----------------------------------------------------------------------------------------------------------


def parts_of_error(error: Exception) -> tuple[str, str, str]:
    """The name of its kind, its words, and those of the compiler that it quotes."""
    original = error.original if isinstance(error, CompileFailed) else ""
    return known_name(error), shortened(words_of(error), LONGEST_WORDS), shortened(original, LONGEST_WORDS)


def words_of(error: Exception) -> str:
    try:
        return error.args[0] if [type(arg) for arg in error.args] == [Flaw] else str(error)
    except Exception:  # the reader's own class
        return ""


def known_name(error: Exception) -> str:
    """ "ValueError" of an exception of some library that is one: what the other end can raise in its place."""
    return next(
        kind.__name__
        for kind in type(error).__mro__
        if kind.__module__ == "builtins"
        or OURS.get(kind.__name__) is kind
        or (kind.__module__ == FINDINGS and kind.__name__ in OF_SIMULATOR)
    )


def exception(name: str, text: str, words: str) -> Exception:
    """An exception that the other end raised; RuntimeError where its kind is not known here.

    That a package is missing is for this end to say.
    """
    if name == CompileFailed.__name__:
        return CompileFailed(text, original=words)
    if name in OF_SIMULATOR:
        return getattr(import_module(FINDINGS), OF_SIMULATOR[name])(text)
    kind = OURS.get(name) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or issubclass(kind, ModuleNotFoundError):
        return RuntimeError(text)
    try:
        return kind(text)
    except TypeError:  # UnicodeDecodeError wants more
        return RuntimeError(text)


def is_tensor(value: Any) -> bool:
    """Whether it is one of torch's, in ordinary memory; torch takes long to import."""
    torch = sys.modules.get("torch")
    if torch is None or type(value) is not torch.Tensor:
        return False
    return value.device.type == "cpu" and value.layout is torch.strided


def spanned(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last, both counted; 0 where there are none."""
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else 0


def plain_dtype(text: Any) -> "np.dtype":
    """Raises CannotCross where it is none, or one with references."""
    import numpy as np

    dtype = np.dtype(str(text)[:16])
    if dtype.kind not in PLAIN_DTYPES:
        raise CannotCross("a dtype that is not plain")
    return dtype


def read_scalar(dtype: str, raw: bytes) -> "np.generic":
    import numpy as np

    return np.frombuffer(raw, plain_dtype(dtype), 1)[0]


def read_array(dtype: str, shape: list[int], strides: list[int], start: int, raw: bytes) -> "np.ndarray":
    import numpy as np

    if math.prod(shape) > MOST_ELEMENTS or len(shape) > 32:
        raise CannotCross("an array too large")
    return np.ndarray(tuple(shape), plain_dtype(dtype), bytearray(raw), start, tuple(strides))


def read_tensor(name: str, shape: list[int], strides: list[int], start: int, raw: bytes) -> Any:
    import torch

    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise CannotCross("no dtype of torch's")
    if min((*shape, *strides), default=0) < 0 or spanned(shape, strides) * dtype.itemsize != len(raw):
        raise CannotCross("a tensor that is not where it says")
    if math.prod(shape) > MOST_ELEMENTS:
        raise CannotCross("a tensor too large")
    memory = torch.empty(LINE + len(raw), dtype=torch.uint8)
    skip = (start - memory.data_ptr()) % LINE
    memory = memory[skip : skip + len(raw)]
    if raw:
        memory.copy_(torch.frombuffer(bytearray(raw), dtype=torch.uint8))
    flat = memory.view(dtype)
    return flat.as_strided(tuple(shape), tuple(strides), flat.storage_offset())


def read_flaw(words: str, failures: list[Any]) -> Flaw:
    """Raises TypeError and ValueError where it is none."""
    read = (Fault(str(kind), frozenset((str(name), str(value)) for name, value in known)) for kind, known in failures)
    return Flaw(str(words), *read)


READERS: dict[str, Callable[..., Any]] = {
    "int": lambda reader, digits: int(digits[:5000], 16),
    "tuple": lambda reader, *parts: parts,
    "set": lambda reader, *parts: set(parts),
    "frozenset": lambda reader, *parts: frozenset(parts),
    "range": lambda reader, *parts: range(*parts),
    "scalar": lambda reader, *parts: read_scalar(*parts),
    "array": lambda reader, *parts: read_array(*parts),
    "tensor": lambda reader, *parts: read_tensor(*parts),
    "Layout": lambda reader, *parts: Layout(*parts),
    "Swizzle": lambda reader, *parts: Swizzle(*parts),
    "ComposedLayout": lambda reader, outer, inner, offset: ComposedLayout(outer, inner, offset=offset),
    "record": Reader.record,
    "function": Reader.function,
    "error": lambda reader, name, text, words: exception(str(name), text, str(words)),
    "flaw": lambda reader, *parts: read_flaw(*parts),
    "opaque": lambda reader, kind: Opaque(str(kind)[:80]),
}
KINDS = tuple(READERS)
TAGS = {kind: msgpack.ExtType(code, b"") for code, kind in enumerate(KINDS)}
