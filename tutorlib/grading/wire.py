"""Plain data, and nothing else, may cross between the judge and the sandboxed process that holds an answer.

A message is msgpack. None, truth values, numbers, texts, bytes, lists and dictionaries are its own; everything else is
a list whose first element is a tag, an extension without data whose code stands for one of KINDS. Reading a message
calls no code but this module's and the constructors of NumPy's and torch's arrays, of tensor_layouts' layouts and of
RETURNED, on plain values. NumPy is imported by the first array: most answers see none, and each kernel would import it.

What takes the judge too much memory or too long to read, such as a set of numbers that all have one hash, costs its
exercise, since the judge's process has limits (`judge_process`).
"""

import builtins
import ctypes
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import msgpack
from tensor_layouts import ComposedLayout, Layout, Swizzle
from tensor_layouts.layouts import LayoutError, UnsupportedComposedLayoutError

from tutorlib.checking.exercise import WrongKind
from tutorlib.compiling.errors import CompileFailed, shortened
from tutorlib.failure import Fault, Flaw

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**28  # bytes of a message
MOST_ELEMENTS = 2**26  # of an array, counted as often as its strides repeat them
LINE = 64  # bytes: arrays and tensors begin where they did, to a multiple of this
PLAIN_DTYPES = "biufcSU"  # NumPy's kinds without references
# Where the dataclasses live that an answer's process may send: what an answer returns, and evidence.
RETURNED = (
    *("tutorlib.models.", "tutorlib.kernels.", "tutorlib.layouts."),
    *("tutorlib.checking.evidence", "tutorlib.checking.cutile_evidence", "tutorlib.compiling.compiled"),
    *("tutorlib.dsl.failure", "tutorlib.simulate.cutile.run", "tutorlib.simulate.ptx.findings"),
)
# And those that the judge sends, beside functions of these modules: what an answer takes, and requests for evidence.
SENT = (
    *RETURNED,
    *("tutorlib.checking.", "tutorlib.compiling.spec", "tutorlib.exercises.judges."),
)
FOR_ANSWERS = re.compile(r"tutorlib\.(checking|kernels|exercises\.judges)\b")
LONGEST_WORDS = 4000  # characters of an exception's text
OURS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (CompileFailed, WrongKind, LayoutError, UnsupportedComposedLayoutError)
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
            return "flaw", str(value), *value.failures
        if kind in MADE_OF:
            return kind.__name__, *(getattr(value, name) for name in MADE_OF[kind])
        if kind.__module__ == "numpy":
            import numpy as np

            if isinstance(value, np.generic) and value.dtype.kind in PLAIN_DTYPES:
                return "scalar", np.asarray(value)
            if kind is np.ndarray and value.dtype.kind in PLAIN_DTYPES:
                return "array", *parts_of_array(value)
        if is_tensor(value):
            return "tensor", *parts_of_tensor(value)
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
    """dtype, shape, strides, where a line of LINE bytes its memory begins, where the first element stands in it, and
    the bytes: gaps cross, too.
    """
    import numpy as np

    low, high = np.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
    first = value.__array_interface__["data"][0] - low if value.size else 0
    return [
        value.dtype.str,
        list(value.shape),
        list(value.strides),
        low % LINE,
        first,
        ctypes.string_at(low, high - low),
    ]


def parts_of_tensor(value: Any) -> tuple[str, "np.ndarray"]:
    """dtype, and its bits as an array of integers. Raises CannotCross for elements of another size than these have."""
    import torch

    if not (bits := {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(value.element_size())):
        raise CannotCross(str(value.dtype))
    return str(value.dtype).removeprefix("torch."), value.detach().view(bits).numpy()


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

    def value(self, message: bytes) -> Any:
        """Raises CannotCross where the message is none."""
        try:
            return msgpack.unpackb(
                message,
                ext_hook=self.tag,
                list_hook=self.made,
                strict_map_key=False,
                unicode_errors="surrogatepass",
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


def read_array(dtype: str, shape: list[int], strides: list[int], line: int, first: int, raw: bytes) -> "np.ndarray":
    """Raises CannotCross where it is too large, or its elements are references."""
    import numpy as np

    kind = np.dtype(str(dtype)[:16])
    if kind.kind not in PLAIN_DTYPES or math.prod(shape) > MOST_ELEMENTS or len(shape) > 32:
        raise CannotCross("an array that is not plain, or too large")
    memory = np.empty(LINE + len(raw), np.uint8)
    skip = (line - memory.__array_interface__["data"][0]) % LINE
    memory[skip : skip + len(raw)] = np.frombuffer(raw, np.uint8)
    return np.ndarray(tuple(shape), kind, memory[skip : skip + len(raw)].data, first, tuple(strides))


def read_tensor(name: str, bits: "np.ndarray") -> Any:
    import torch

    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise CannotCross("no dtype of torch's")
    return torch.from_numpy(bits).view(dtype)


def read_flaw(words: str, failures: tuple[Any, ...]) -> Flaw:
    """Raises CannotCross where it is none."""
    if not all(isinstance(one, Fault) for one in failures):
        raise CannotCross("no flaw")
    return Flaw(str(words), *failures)


READERS: dict[str, Callable[..., Any]] = {
    "int": lambda reader, digits: int(digits[:5000], 16),
    "tuple": lambda reader, *parts: parts,
    "set": lambda reader, *parts: set(parts),
    "frozenset": lambda reader, *parts: frozenset(parts),
    "range": lambda reader, *parts: range(*parts),
    "scalar": lambda reader, array: array[()],
    "array": lambda reader, *parts: read_array(*parts),
    "tensor": lambda reader, *parts: read_tensor(*parts),
    "Layout": lambda reader, *parts: Layout(*parts),
    "Swizzle": lambda reader, *parts: Swizzle(*parts),
    "ComposedLayout": lambda reader, outer, inner, offset: ComposedLayout(outer, inner, offset=offset),
    "record": Reader.record,
    "function": Reader.function,
    "error": lambda reader, name, text, words: exception(str(name), text, str(words)),
    "flaw": lambda reader, words, *failures: read_flaw(words, failures),
    "opaque": lambda reader, kind: Opaque(str(kind)[:80]),
}
KINDS = tuple(READERS)
TAGS = {kind: msgpack.ExtType(code, b"") for code, kind in enumerate(KINDS)}
