"""Plain data, and nothing else, may cross between the judge and the sandboxed process that holds an answer.

A message is msgpack. None, truth values, numbers, texts, bytes, lists and dictionaries are its own; everything else is
a list whose first element is a tag, an extension without data whose code stands for one of KINDS. Reading a message
calls no code but this module's and the constructors of NumPy's and torch's arrays, of tensor_layouts' layouts and of
the dataclasses listed here, on plain values. NumPy is imported by the first array: most answers see none, and each
kernel would import it.

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
FOR_ANSWERS = re.compile(r"tutorlib\.(checking|kernels|exercises\.judges)\b")  # modules of functions sent by name
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


@dataclass(frozen=True)
class Direction:
    """Messages of one direction.

    records: how the names of the modules begin whose dataclasses cross. They are imported to make a record.
    requests: whether functions of FOR_ANSWERS cross, by their names, and what cannot cross is an error; a reply has an
    Opaque in its place.
    """

    records: tuple[str, ...]
    requests: bool

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
        if parts := parts_of_array(value) or parts_of_tensor(value):
            return parts
        if is_dataclass(kind) and kind.__module__.startswith(self.records):
            taken = (getattr(value, field.name) for field in fields(value) if field.init)
            return "record", kind.__module__, kind.__qualname__, *taken
        if self.requests and kind is FunctionType and FOR_ANSWERS.match(value.__module__):
            return "function", value.__module__, value.__qualname__
        if isinstance(value, Exception) and known_name(value) in (*OURS, *OF_SIMULATOR):
            return "error", *parts_of_error(value)
        if self.requests:
            raise CannotCross(kind.__name__)
        return "opaque", kind.__name__

    def value(self, message: bytes) -> Any:
        """Raises CannotCross where the message is none."""
        try:
            return msgpack.unpackb(
                message,
                ext_hook=lambda code, _: TAGS[KINDS[code]],
                list_hook=self.made,
                strict_map_key=False,
                unicode_errors="surrogatepass",
                max_ext_len=0,
            )
        except CannotCross:
            raise
        except Exception as error:  # what was written by hand can fail in any way
            raise CannotCross(f"{type(error).__name__} while it was read") from None

    def made(self, parts: list[Any]) -> Any:
        """A list, or what its tag says."""
        if not parts or type(parts[0]) is not msgpack.ExtType:
            return parts
        kind, parts = KINDS[parts[0].code], parts[1:]
        return getattr(self, kind)(*parts) if kind in ("record", "function") else READERS[kind](*parts)

    def function(self, module: str, name: str) -> Any:
        """Only an answer's process looks for functions by their names."""
        if not (self.requests and FOR_ANSWERS.match(module)):
            raise CannotCross(f"{module}.{name} is not for the process of an answer")
        return getattr(import_module(module), name)

    def record(self, module: str, name: str, *values: Any) -> Any:
        kind = vars(import_module(module)).get(name) if module.startswith(self.records) else None
        if not (isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module):
            raise CannotCross("no record of the course's")
        return kind(**dict(zip((field.name for field in fields(kind) if field.init), values, strict=True)))


RESULTS = (
    *(
        "tutorlib.models.",
        "tutorlib.kernels.",
        "tutorlib.layouts.",
        "tutorlib.compiling.compiled",
        "tutorlib.dsl.failure",
    ),
    *("tutorlib.checking.evidence", "tutorlib.checking.cutile_evidence", "tutorlib.simulate.cutile.run", FINDINGS),
)
REPLIES = Direction(RESULTS, requests=False)  # what an answer returns, and evidence
REQUESTS = Direction(  # what an answer takes, and requests for evidence
    (*RESULTS, "tutorlib.checking.", "tutorlib.compiling.spec", "tutorlib.exercises.judges."), requests=True
)


# Exceptions ----------------------------------------------------------------------------------------------------------


def parts_of_error(error: Exception) -> tuple[str, str, str]:
    """The name of its kind, its words, and those of the compiler that it quotes."""
    original = error.original if isinstance(error, CompileFailed) else ""
    try:
        words = error.args[0] if [type(arg) for arg in error.args] == [Flaw] else str(error)
    except Exception:  # the reader's own class
        words = ""
    return known_name(error), shortened(words, LONGEST_WORDS), shortened(original, LONGEST_WORDS)


def known_name(error: Exception) -> str:
    """The name of the nearest of its classes that the other end can raise: "ValueError" of a library's own kind."""
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


# Arrays and tensors --------------------------------------------------------------------------------------------------


def parts_of_array(value: Any) -> tuple[Any, ...]:
    """The parts of an array or a NumPy scalar; () of what is neither, or has references.

    An array's: dtype, shape, strides, where a line of LINE bytes its memory begins, where the first element stands in
    it, and the bytes: gaps cross, too.
    """
    if type(value).__module__ != "numpy":
        return ()
    import numpy as np

    if not (isinstance(value, np.generic) or type(value) is np.ndarray) or value.dtype.kind not in PLAIN_DTYPES:
        return ()
    if isinstance(value, np.generic):
        return "scalar", np.asarray(value)
    low, high = np.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
    first = value.__array_interface__["data"][0] - low if value.size else 0
    raw = ctypes.string_at(low, high - low)
    return "array", value.dtype.str, list(value.shape), list(value.strides), low % LINE, first, raw


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


def parts_of_tensor(value: Any) -> tuple[Any, ...]:
    """The dtype of a tensor in ordinary memory, and its elements as integers of their size; () of anything else."""
    torch = sys.modules.get("torch")  # which takes long to import
    if torch is None or type(value) is not torch.Tensor or (value.device.type, value.layout) != ("cpu", torch.strided):
        return ()
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(value.element_size())
    return ("tensor", str(value.dtype).removeprefix("torch."), value.detach().view(bits).numpy()) if bits else ()


def read_tensor(name: str, bits: "np.ndarray") -> Any:
    import torch

    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise CannotCross("no dtype of torch's")
    return torch.from_numpy(bits).view(dtype)


def read_flaw(words: str, *failures: Any) -> Flaw:
    """Raises CannotCross where it is none."""
    if not all(isinstance(failure, Fault) for failure in failures):
        raise CannotCross("no flaw")
    return Flaw(str(words), *failures)


READERS: dict[str, Callable[..., Any]] = {
    "int": lambda digits: int(digits[:5000], 16),
    "tuple": lambda *parts: parts,
    "set": lambda *parts: set(parts),
    "frozenset": lambda *parts: frozenset(parts),
    **{kind.__name__: kind for kind in (range, Layout, Swizzle)},
    "scalar": lambda array: array[()],
    "array": read_array,
    "tensor": read_tensor,
    "ComposedLayout": lambda outer, inner, offset: ComposedLayout(outer, inner, offset=offset),
    "error": lambda name, text, words: exception(str(name), text, str(words)),
    "flaw": read_flaw,
    "opaque": lambda kind: Opaque(str(kind)[:80]),
}
KINDS = (*READERS, "record", "function")
TAGS = {kind: msgpack.ExtType(code, b"") for code, kind in enumerate(KINDS)}
