"""Calls of cute.compile: noted, or recorded without compiling, and their arguments as plain data.

A tensor is told as its type: dtype, memory, alignment, and for each mode of shape and stride its number, or that it is
dynamic.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

CONTROLS = ("options", "is_experimental", "trace_finalize_hooks")  # of cute.compile, and no arguments of the function
MODE = re.compile(r"\?(?:\{(?:i(?P<width>\d+))? ?(?:div=(?P<divisibility>\d+))?\})?|(?P<static>\d+)")
WIDTH = 32  # bits of a dynamic mode of which nothing is said; else 64
MEMORIES = ("generic", "gmem")
LARGEST = 2**31  # of a mode, a divisibility or an alignment

Mode = int | list[int | None]  # a number; or bits, divisibility, and which symbol, None for one of its own


@contextmanager
def compilations_noted() -> Iterator[list[bool]]:
    """For each call of cute.compile in the block that succeeds, whether its result takes torch's tensors (TVM-FFI)."""
    from cutlass.base_dsl.compiler import CompileCallable
    from cutlass.cutlass_dsl.tvm_ffi_provider import TVMFFIJitCompiledFunctionBase

    noted: list[bool] = []
    does = CompileCallable._compile

    def note(self: CompileCallable, *args: Any, **options: Any) -> Any:
        compiled = does(self, *args, **options)
        noted.append(isinstance(compiled, TVMFFIJitCompiledFunctionBase))
        return compiled

    with options_kept(), mock.patch.object(CompileCallable, "_compile", note):
        yield noted


@dataclass
class Requested:
    """A call cute.compile(host, *arguments, **options) that has compiled nothing yet, in place of its result.

    arguments: tensors without their data. calls: the arguments of each call of the result in the block. Its first call
    after the block compiles: the caller may have kept it.
    """

    host: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    calls: list[tuple[Any, ...]] | None = field(default_factory=list)
    compiled: Any = None

    @property
    def named(self) -> dict[str, Any]:
        """The options that are arguments of the host function."""
        return own(self.options)

    def __call__(self, *args: Any) -> None:
        from cutlass import cute

        if self.calls is not None:
            self.calls.append(args)
            return
        if self.compiled is None:
            self.compiled = cute.compile(self.host, *self.arguments, **self.options)
        self.compiled(*args)


def own(options: dict[str, Any]) -> dict[str, Any]:
    """Of the arguments that cute.compile takes by name, those of the host function."""
    return {name: value for name, value in options.items() if name not in CONTROLS}


@contextmanager
def compile_requests() -> Iterator[list[Requested]]:
    """The calls of cute.compile in the block, in order; they compile nothing.

    A @cute.jit function that is called without it raises WithoutCompile, and one that was compiled before the block
    CompiledBefore: nothing is launched.
    """
    from cutlass.base_dsl.compiler import CompileCallable
    from cutlass.base_dsl.dsl import BaseDSL
    from cutlass.cutlass_dsl.cuda_jit_executor import CudaDialectJitCompiledFunction
    from cutlass.cutlass_dsl.tvm_ffi_provider import TVMFFIJitCompiledFunctionBase

    requests: list[Requested] = []

    def note(self: CompileCallable, function: Any, *args: Any, **options: Any) -> Requested:
        requests.append(Requested(function, tuple(map(without_data, args)), options))
        return requests[-1]

    def refuse(dsl: BaseDSL, function: Any, *args: Any, **kwargs: Any) -> None:
        raise WithoutCompile(function.__name__)

    def stop(function: Any, *args: Any, **kwargs: Any) -> None:
        raise CompiledBefore

    with (
        mock.patch.object(CompileCallable, "_compile", note),
        mock.patch.object(BaseDSL, "_func", refuse),
        mock.patch.object(CudaDialectJitCompiledFunction, "__call__", stop),
        mock.patch.object(TVMFFIJitCompiledFunctionBase, "__call__", stop),
    ):
        try:
            yield requests
        finally:
            for request in requests:
                request.calls = None


def without_data(argument: Any) -> Any:
    """An argument of cute.compile; a tensor as one on a GPU that has no data."""
    told = argument_in_words(argument)
    return argument_of({**told, "memory": "gmem"}, {}) if isinstance(told, dict) and "memory" in told else argument


class WithoutCompile(Exception):
    """A @cute.jit function was called directly; the message is its name."""


class CompiledBefore(Exception):
    """A function was called that had been compiled before."""


@contextmanager
def options_kept() -> Iterator[None]:
    """A compilation that raises leaves its options to the next function that the DSL compiles; here they end."""
    from cutlass.cutlass_dsl import CuTeDSL

    dsl = CuTeDSL._get_dsl()
    with mock.patch.object(dsl, "compile_options", dsl.compile_options):
        yield


def argument_in_words(argument: Any) -> Any:
    """An argument of cute.compile as plain data."""
    from cutlass import Numeric
    from cutlass.cute import runtime

    if argument is None or type(argument) in (bool, int, float):
        return argument
    if isinstance(argument, runtime._FakeStream):
        return {"stream": bool(argument.use_tvm_ffi_env_stream)}
    if isinstance(argument, runtime._FakeTensor):
        flat: Any = (argument.shape, argument.stride)
        modes = [list(map(mode_of, part)) for part in flat]
    elif isinstance(argument, runtime._Tensor):
        modes = modes_of(argument)
    elif isinstance(argument, Numeric) and type(argument.value) in (bool, int, float):
        return {"number": type(argument).__name__, "value": argument.value}  # Int32(2)
    else:
        return {"unknown": type(argument).__name__}
    return {
        "dtype": argument.element_type.__name__,
        "memory": argument.memspace.name,
        "align": argument._assumed_align,
        "shape": modes[0],
        "stride": modes[1],
    }


def mode_of(mode: Any) -> Mode:
    """Of a fake tensor."""
    return mode if isinstance(mode, int) else [mode.width, mode.divisibility, id(mode)]


def modes_of(tensor: Any) -> list[list[Mode]]:
    """Shape and stride of a tensor that was marked: "generic o (?,4):(1,?{i64 div=2})"."""
    *_, layout = tensor.__cache_key__
    _, _, text = layout.partition(" o ")
    return [list(map(mode_in_words, MODE.finditer(part))) for part in text.split(":")]


def mode_in_words(words: re.Match[str]) -> Mode:
    if words["static"]:
        return int(words["static"])
    return [int(words["width"] or WIDTH), int(words["divisibility"] or 1), None]


def argument_of(told: Any, symbols: dict[int, Any]) -> Any:
    """The argument of `argument_in_words`; of a tensor, one without data. Raises ValueError.

    symbols: of the call, by which modes are alike; those that are new join them.
    """
    import cutlass
    from cutlass.cute import runtime

    match told:
        case None | bool() | int() | float():
            return told
        case {"stream": bool(of_torch)}:
            return runtime.make_fake_stream(use_tvm_ffi_env_stream=of_torch)
        case {"number": str(kind), "value": bool() | int() | float() as value}:
            return numeric(kind)(value)
        case {"dtype": str(kind), "memory": str(memory), "align": align, "shape": list(shape), "stride": list(stride)}:
            if memory not in MEMORIES or len(shape) != len(stride) or not is_alignment(align):
                raise ValueError("that is no tensor")
            return runtime.make_fake_tensor(
                numeric(kind),
                tuple(mode_from(one, symbols) for one in shape),
                stride=tuple(mode_from(one, symbols) for one in stride),
                memspace=cutlass.AddressSpace[memory],
                assumed_align=align,
            )
        case {"unknown": str(kind)}:
            raise ValueError(f"cute.compile was given a {kind}")
    raise ValueError("that is no argument of cute.compile")


def mode_from(told: Any, symbols: dict[int, Any]) -> Any:
    """A number, or CuTe's symbol."""
    from cutlass import cute

    match told:
        case int(size) if not isinstance(size, bool) and 0 <= size < LARGEST:
            return size
        case [32 | 64 as width, int(divisibility), int() | None as symbol] if 0 < divisibility < LARGEST:
            new = cute.SymInt(width, divisibility=divisibility)
            return new if symbol is None else symbols.setdefault(symbol, new)
    raise ValueError(f"{told!r} is no mode of a tensor")


def is_alignment(told: Any) -> bool:
    """In bytes; None for that of an element."""
    return told is None or (type(told) is int and 0 < told < LARGEST and not told & (told - 1))


def numeric(name: str) -> Any:
    """CuTe's type of this name. Raises ValueError."""
    import cutlass

    kind = getattr(cutlass, name, None)
    if not (isinstance(kind, type) and issubclass(kind, cutlass.Numeric)):
        raise ValueError(f"{name!r} is no type of numbers")
    return kind
