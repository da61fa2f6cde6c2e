"""Judging an answer from another process, so that nothing it does to its own process can give it points.

The answer stays in the notebook's kernel, which serves calls on a socket; the judge outside holds a `Remote` in its
place. Values come back as pickles of plain data, NumPy arrays and layouts alone: unpickling them runs no code.
"""

import builtins
import ctypes
import io
import pickle
import socket
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from tutorlib.checking.exercise import Answer, Exercise, Outcome
from tutorlib.checking.leaning import Elsewhere

CONNECT_S = 10.0
LARGEST_REPLY = 2**28  # bytes

NUMPY = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
}


class Lost(BaseException):
    """The kernel gives no reply: it hangs or is gone. Not an Exception, or a case would take it for a wrong answer."""


class CannotCross(BaseException):
    """This exercise's judge wants more than the values of calls with plain arguments, so it must sit in the kernel."""


class Opaque:
    """Stands for a returned value that is none of those which may cross. It equals nothing."""


OPAQUE = "opaque"  # its persistent id


class Remote(Elsewhere):
    """A function of the kernel, number `index` of those that it serves. A call raises Lost after the deadline."""

    def __init__(self, connection: Connection, deadline: float, index: int = 0) -> None:
        self.connection, self.deadline, self.index = connection, deadline, index
        self.__name__ = "answer"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = io.BytesIO()
        Arguments(call).dump((self.index, args, kwargs))
        try:
            self.connection.send_bytes(call.getvalue())
            if not self.connection.poll(max(0.0, self.deadline - time.monotonic())):
                raise Lost("it gave no result in time")
            reply = self.connection.recv_bytes(LARGEST_REPLY)
        except (OSError, EOFError):
            raise Lost("the kernel is gone") from None
        match Returned(reply, self).load():
            case ("raised", str() as name, str() as text):
                raise exception(name)(text)
            case ("returned", value):
                return value
        raise Lost("it broke the connection to the judge")


class RemoteAnswer(Remote):
    """The answer under judgement. A judge that looks inside it, as at a @cute.jit function, must sit in the kernel.

    What the answer returns never raises CannotCross: the student chooses it.
    """

    def decline(self, wanted: str) -> None:
        raise CannotCross(wanted)

    def __getattr__(self, name: str) -> Any:
        """Messages ask for `__code__` and can do without."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotCross(name)


def exception(name: str) -> type[Exception]:
    """The built-in exception of this name; RuntimeError where there is none."""
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


class Arguments(pickle.Pickler):
    """Pickles plain data, layouts, and arrays with their strides: NumPy's own pickles close the gaps."""

    def reducer_override(self, value: Any) -> Any:
        if value is strided:
            return NotImplemented  # by name
        if isinstance(value, Opaque | Remote):
            raise TypeError("the answer returned something that it cannot be called with")
        module = type(value).__module__.split(".")[0]
        if isinstance(value, FunctionType) or module not in ("builtins", "numpy", "tensor_layouts"):
            raise CannotCross(type(value).__name__)  # a copy of a tensor is not the tensor that the judge looks at
        if type(value) is not np.ndarray or value.dtype.hasobject or not value.size:
            return NotImplemented
        low, high = np.lib.array_utils.byte_bounds(value)
        start = value.__array_interface__["data"][0] - low
        return strided, (ctypes.string_at(low, high - low), start, value.shape, value.strides, value.dtype)


def strided(memory: bytes, start: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.ndarray(shape, dtype, bytearray(memory), start, strides)


class Returned(pickle.Unpickler):
    """Unpickles what the kernel sent. It holds no class but those of NUMPY and of tensor_layouts."""

    def __init__(self, reply: bytes, answer: Remote) -> None:
        super().__init__(io.BytesIO(reply))
        self.answer = answer

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in NUMPY:
            return super().find_class(module, name)
        if module.split(".")[0] == "tensor_layouts" and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not cross")

    def persistent_load(self, index: Any) -> Any:
        return Opaque() if index == OPAQUE else Remote(self.answer.connection, self.answer.deadline, index)

    def load(self) -> Any:
        try:
            return super().load()
        except Exception:  # a pickle made by hand can fail in any way
            return "returned", Opaque()


class Reply(pickle.Pickler):
    """Pickles a result; a function in it stays here, is added to `functions` and goes by its number."""

    def __init__(self, file: io.BytesIO, functions: list[Callable]) -> None:
        super().__init__(file, protocol=4)  # the newest that names no more of NumPy than NUMPY does
        self.functions = functions

    def persistent_id(self, value: Any) -> int | str | None:
        if isinstance(value, Opaque):
            return OPAQUE
        if not isinstance(value, FunctionType | MethodType | partial):
            return None
        self.functions.append(value)
        return len(self.functions) - 1


def serve(address: str, answer: Answer) -> None:
    """In the kernel: carry out the judge's calls of `answer`, and of the functions it returned, until it hangs up."""
    functions: list[Callable] = [answer]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        connection = Connection(line.detach())
    while True:
        try:
            index, args, kwargs = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            result: tuple = ("returned", functions[index](*args, **kwargs))
        except Exception as error:
            result = ("raised", builtin_name(error), str(error))
        connection.send_bytes(packed(result, functions))


def builtin_name(error: Exception) -> str:
    """ "ValueError" of an exception of some library that is one: what the judge can raise in its place."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def packed(result: tuple, functions: list[Callable]) -> bytes:
    """The result as a pickle; Opaque where it cannot be pickled."""
    file = io.BytesIO()
    try:
        Reply(file, functions).dump(result)
    except Exception:  # whatever the value's own __reduce__ raises
        return packed(("returned", Opaque()), functions)
    return file.getvalue()


def judge(exercise: Exercise, address: Path, start: Callable[[], None], seconds: float) -> Outcome:
    """Grade the answer that a kernel serves at a socket.

    start: makes the kernel call `serve(address, answer)`.
    seconds: for all the calls together. Raises Lost and CannotCross.
    """
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(address))
        door.listen(1)
        door.settimeout(CONNECT_S)
        try:
            start()
            line, _ = door.accept()
        except TimeoutError:
            raise Lost("the kernel did not answer the judge") from None
        finally:
            address.unlink()
    with Connection(line.detach()) as connection:
        try:
            return exercise.grade(RemoteAnswer(connection, time.monotonic() + seconds))
        except Exception as error:  # a case that stumbles over what the answer returned
            return exercise.outcome("failed", 0, f"{type(error).__name__}: {error}")
