"""Plain data, and nothing else, may cross between the judge and the sandboxed process that holds an answer.

A message is JSON and, behind it, the bytes of its arrays. None, truth values, numbers and texts stand as they are;
lists, too. Everything else is an object with one key that names its kind. Reading a message calls no code but this
module's and the constructors of NumPy's and torch's arrays, of tensor_layouts' layouts and of RECORDS, on plain values.
NumPy is imported by the first array: most answers see none, and each kernel would import it.
"""

import ctypes
import json
import math
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from tensor_layouts import ComposedLayout, Layout, Swizzle

from tutorlib.checking.values import MOST_MODES, has_more_modes
from tutorlib.exercises import rooms
from tutorlib.failure import Fault, Flaw

if TYPE_CHECKING:
    import numpy as np

DEEPEST = 60  # one within another
LARGEST = 2**28  # bytes of a message
LARGEST_JSON = 2**25  # bytes of it that are JSON
MOST_ELEMENTS = 2**26  # of an array, counted as often as its strides repeat them
MOST_KEYS = 2**12  # in all sets and dictionaries of a message: numbers can be chosen that all have one hash
LONGEST_RANGE = 2**20  # elements: whoever lists one of more never comes to its end
LINE = 64  # bytes: tensors begin where they did, to a multiple of this
KINDS = "biufcSU"  # of NumPy's dtypes: those without references
HEAD = struct.Struct("<Q")
RECORDS = (
    "tutorlib.models.",
    "tutorlib.kernels.",
    "tutorlib.layouts.",
)  # where the dataclasses live that an answer takes and returns
JUDGES = tuple(f"tutorlib.exercises.{room}.judge." for room in rooms().values())
EXERCISES = (*RECORDS, *JUDGES, "tutorlib.checking.", "tutorlib.machine.", "tutorlib.problems.")  # those of an exercise
FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType)
BY_NAME = re.compile(r"tutorlib\.(checking|kernels|exercises\.n\d\d_\w+\.judge)\.")


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

    handle: takes a function, gives what says who keeps it and under which number, {"mine": 3} or {"yours": 3}.
    lenient: what cannot cross goes as Opaque; otherwise CannotCross is raised.
    records: how the names of modules begin whose dataclasses are sent.
    """

    handle: Callable[[Any], dict[str, int]]
    lenient: bool = False
    records: tuple[str, ...] = RECORDS
    buffers: list[bytes] = field(default_factory=list)

    def message(self, value: Any) -> bytes:
        self.buffers.clear()
        text = json.dumps(self.plain(value), separators=(",", ":")).encode()
        if len(text) > LARGEST_JSON or sum(map(len, self.buffers)) + len(text) > LARGEST // 2:
            raise CannotCross("it is too large")
        return b"".join((HEAD.pack(len(text)), text, *self.buffers))

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON has it."""
        kind = type(value)
        if depth > DEEPEST:
            return self.unsent("a value nested so deep")
        if value is None or kind in (bool, float, str):
            return value
        if kind is int:
            return value if abs(value) < 2**62 else {"int": hex(value)}
        if kind is Flaw:
            return {"flaw": [str(value), [[one.kind, sorted(one.fields)] for one in value.failures]]}
        if kind is list:
            return [self.plain(part, depth + 1) for part in value]
        if kind in (tuple, set, frozenset):
            return {kind.__name__: [self.plain(part, depth + 1) for part in value]}
        if kind is dict:
            return {"dict": [[self.plain(k, depth + 1), self.plain(v, depth + 1)] for k, v in value.items()]}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if kind in (bytes, bytearray):
            return {"bytes": self.buffer(bytes(value))}
        return self.other(value, depth)

    def other(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind.__module__ == "numpy":
            import numpy as np

            if isinstance(value, np.generic) and value.dtype.kind in KINDS:
                return {"scalar": [value.dtype.str, self.buffer(value.tobytes())]}
            if kind is np.ndarray and value.dtype.kind in KINDS:
                return {"array": self.array(value)}
        if is_tensor(value):
            return {"tensor": self.tensor(value.detach())}
        if kind is Layout:
            return {"layout": [self.plain(part, depth + 1) for part in (value.shape, value.stride)]}
        if kind is Swizzle:
            return {"swizzle": [value.bits, value.base, value.shift]}
        if kind is ComposedLayout:
            return {"composed": [self.plain(part, depth + 1) for part in (value.outer, value.inner, value.offset)]}
        if is_dataclass(kind) and kind.__module__.startswith(self.records):
            parts = {one.name: self.field(one, getattr(value, one.name), depth + 1) for one in fields(kind) if one.init}
            return {"record": [kind.__module__, kind.__qualname__, parts]}
        if isinstance(value, FUNCTIONS) or (callable(value) and not isinstance(value, type | Opaque)):
            return self.handle(value)
        return self.unsent(kind.__name__)

    def field(self, one: Field[Any], value: Any, depth: int) -> Any:
        if one.metadata.get("by_name") and value is not None:
            return {"function": [value.__module__, value.__qualname__]}
        return self.plain(value, depth)

    def array(self, value: "np.ndarray") -> list[Any]:
        """dtype, shape, strides, where the first element stands in a buffer, and the buffer: gaps cross, too."""
        import numpy as np

        if not value.size:
            return [value.dtype.str, list(value.shape), list(value.strides), 0, self.buffer(b"")]
        low, high = np.lib.array_utils.byte_bounds(value)
        start = value.__array_interface__["data"][0] - low
        raw = ctypes.string_at(low, high - low)
        return [value.dtype.str, list(value.shape), list(value.strides), start, self.buffer(raw)]

    def tensor(self, value: Any) -> list[Any]:
        """dtype, shape, strides in elements, where a line of LINE bytes it begins, and the buffer, as of an array."""
        length = spanned(value.shape, value.stride()) * value.element_size()
        raw = ctypes.string_at(value.data_ptr(), length) if length else b""
        dtype = str(value.dtype).removeprefix("torch.")
        return [dtype, list(value.shape), list(value.stride()), value.data_ptr() % LINE, self.buffer(raw)]

    def buffer(self, raw: bytes) -> int:
        """Put bytes behind the JSON; their length."""
        self.buffers.append(raw)
        return len(raw)

    def unsent(self, kind: str) -> Any:
        if not self.lenient:
            raise CannotCross(kind)
        return {"opaque": kind}


@dataclass
class Reader:
    """Turns a message into a value.

    theirs: takes the number of a function that they keep, gives what stands for it here. mine: of one kept here.
    records: how the names of modules begin whose dataclasses are made. A module is imported to make one.
    """

    theirs: Callable[[int], Any]
    mine: Callable[[int], Any]
    records: tuple[str, ...] = RECORDS
    rest: memoryview = field(default_factory=lambda: memoryview(b""))
    keys: int = 0  # of sets and dictionaries, so far

    def value(self, message: bytes) -> Any:
        """Raises CannotCross where the message is none."""
        try:
            (length,) = HEAD.unpack_from(message)
            if length > LARGEST_JSON:
                raise CannotCross("it is too large")
            text = message[HEAD.size : HEAD.size + length]
            self.rest, self.keys = memoryview(message)[HEAD.size + length :], 0
            return self.read(json.loads(text))
        except CannotCross:
            raise
        except Exception as error:  # what was written by hand can fail in any way
            raise CannotCross(f"{type(error).__name__} while it was read") from None

    def read(self, value: Any, depth: int = 0) -> Any:
        if depth > 2 * DEEPEST:
            raise CannotCross("it is nested too deep")
        if isinstance(value, list):
            return [self.read(part, depth + 1) for part in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return READERS[kind](self, content, depth + 1)

    def parts(self, content: Any, depth: int) -> list[Any]:
        if not isinstance(content, list):
            raise CannotCross("no list")
        return [self.read(part, depth) for part in content]

    def hashed(self, content: Any) -> Any:
        """What is to be keys, of which nobody sends so many."""
        self.keys += len(content)
        if self.keys > MOST_KEYS:
            raise CannotCross("too many keys")
        return content

    def take(self, length: int) -> bytearray:
        """The next bytes behind the JSON."""
        if not 0 <= length <= len(self.rest):
            raise CannotCross("it ends early")
        taken, self.rest = bytearray(self.rest[:length]), self.rest[length:]
        return taken

    def scalar(self, content: Any) -> "np.generic":
        import numpy as np

        dtype, length = content
        return np.frombuffer(self.take(length), plain_dtype(dtype), 1)[0]

    def array(self, content: Any) -> "np.ndarray":
        import numpy as np

        dtype, shape, strides, start, length = content
        raw = self.take(length)
        elements = 1
        for extent in shape:
            elements *= extent
        if elements > MOST_ELEMENTS or len(shape) > 32:
            raise CannotCross("an array too large")
        return np.ndarray(tuple(shape), plain_dtype(dtype), raw, start, tuple(strides))

    def tensor(self, content: Any) -> Any:
        import torch

        name, shape, strides, start, length = content
        dtype, raw = getattr(torch, str(name), None), self.take(length)
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
            memory.copy_(torch.frombuffer(raw, dtype=torch.uint8))
        flat = memory.view(dtype)
        return flat.as_strided(tuple(shape), tuple(strides), flat.storage_offset())

    def function(self, module: str, name: str) -> Any:
        """Only who is sent exercises looks for functions by their names."""
        if self.records != EXERCISES:
            raise CannotCross("a function's name")
        return judges_own(module, name)

    def record(self, content: Any, depth: int) -> Any:
        module, name, parts = content
        if not (
            isinstance(module, str)
            and module.startswith(self.records)
            and isinstance(name, str)
            and name.isidentifier()
        ):
            raise CannotCross("no record of the course's")
        import_module(module)
        kind = vars(sys.modules[module]).get(name)
        if not (isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module):
            raise CannotCross("no record of the course's")
        return kind(**{part: self.read(value, depth) for part, value in parts.items()})


def judges_own(module: str, name: str) -> Any:
    """What has this name in a module that the process of an answer has, too. Raises CannotCross."""
    if not BY_NAME.match(module):
        raise CannotCross(f"{module}.{name} is not for the process of an answer")
    return getattr(import_module(module), name)


def is_tensor(value: Any) -> bool:
    """Whether it is one of torch's, no scalar and in ordinary memory; torch takes long to import."""
    torch = sys.modules.get("torch")
    if torch is None or type(value) is not torch.Tensor:
        return False
    return value.device.type == "cpu" and value.layout is torch.strided and value.ndim > 0


def spanned(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last, both counted; 0 where there are none."""
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else 0


def plain_dtype(text: Any) -> "np.dtype":
    """Raises CannotCross where it is none, or one with references."""
    import numpy as np

    dtype = np.dtype(str(text)[:16])
    if dtype.kind not in KINDS:
        raise CannotCross("a dtype that is not plain")
    return dtype


READERS: dict[str, Callable[[Reader, Any, int], Any]] = {
    "int": lambda reader, content, depth: int(content[:5000], 16),
    "tuple": lambda reader, content, depth: tuple(reader.parts(content, depth)),
    "set": lambda reader, content, depth: set(reader.parts(reader.hashed(content), depth)),
    "frozenset": lambda reader, content, depth: frozenset(reader.parts(reader.hashed(content), depth)),
    "dict": lambda reader, content, depth: {
        reader.read(k, depth): reader.read(v, depth) for k, v in reader.hashed(content)
    },
    "range": lambda reader, content, depth: bounded_range(*content),
    "bytes": lambda reader, content, depth: bytes(reader.take(content)),
    "scalar": lambda reader, content, depth: reader.scalar(content),
    "array": lambda reader, content, depth: reader.array(content),
    "tensor": lambda reader, content, depth: reader.tensor(content),
    "layout": lambda reader, content, depth: bounded_layout(*reader.parts(content, depth)),
    "swizzle": lambda reader, content, depth: Swizzle(*content),
    "composed": lambda reader, content, depth: composed(*reader.parts(content, depth)),
    "record": lambda reader, content, depth: reader.record(content, depth),
    "function": lambda reader, content, depth: reader.function(*content),
    "mine": lambda reader, content, depth: reader.theirs(content),
    "yours": lambda reader, content, depth: reader.mine(content),
    "flaw": lambda reader, content, depth: read_flaw(*content),
    "opaque": lambda reader, content, depth: Opaque(str(content)[:80]),
}


def bounded_range(start: int, stop: int, step: int) -> range:
    """Raises CannotCross where it is too long, OverflowError where it is longer still."""
    if len(found := range(start, stop, step)) > LONGEST_RANGE:
        raise CannotCross("a range too long")
    return found


def read_flaw(words: str, failures: list[tuple[str, list[tuple[str, str]]]]) -> Flaw:
    """Raises TypeError and ValueError where it is none."""
    read = (Fault(str(kind), frozenset((str(name), str(value)) for name, value in known)) for kind, known in failures)
    return Flaw(str(words), *read)


def bounded_layout(shape: Any, stride: Any) -> Layout:
    """Raises CannotCross where it has too many modes."""
    if has_more_modes(shape):
        raise CannotCross(f"a layout of more than {MOST_MODES} modes")
    return Layout(shape, stride)


def composed(outer: Any, inner: Any, offset: Any) -> ComposedLayout:
    return ComposedLayout(outer, inner, offset=offset)
