"""Calls of cute.compile: noted, or recorded without compiling."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

CONTROLS = ("options", "is_experimental", "trace_finalize_hooks")  # of cute.compile, and no arguments of the function
MODE = re.compile(r"\?(?:\{[^}]*\})?|(?P<static>\d+)")


class WithoutCompile(Exception):
    """A @cute.jit function was called directly; the message is its name."""


class CompiledBefore(Exception):
    """A function was called that had been compiled before."""


@contextmanager
def compilations_noted() -> Iterator[list[bool]]:
    """For each call of cute.compile in the block that succeeds, whether its result takes torch's tensors (TVM-FFI)."""
    from cutlass.base_dsl.compiler import CompileCallable
    from cutlass.cutlass_dsl import CuTeDSL
    from cutlass.cutlass_dsl.tvm_ffi_provider import TVMFFIJitCompiledFunctionBase

    noted: list[bool] = []
    does, dsl = CompileCallable._compile, CuTeDSL._get_dsl()

    def note(self: CompileCallable, *args: Any, **options: Any) -> Any:
        compiled = does(self, *args, **options)
        noted.append(isinstance(compiled, TVMFFIJitCompiledFunctionBase))
        return compiled

    with (
        mock.patch.object(
            dsl, "compile_options", dsl.compile_options
        ),  # one that raises leaves its own to the next one
        mock.patch.object(CompileCallable, "_compile", note),
    ):
        yield noted


@dataclass
class Requested:
    """A call cute.compile(host, *arguments, **options) that has compiled nothing yet, in place of its result.

    calls: the arguments of each call of the result in the block. Its first call after the block compiles: the caller
    may have kept it.
    """

    host: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    calls: list[tuple[Any, ...]] | None = field(default_factory=list)
    compiled: Any = None

    @property
    def named(self) -> dict[str, Any]:
        """The options that are arguments of the host function."""
        return {name: value for name, value in self.options.items() if name not in CONTROLS}

    def __call__(self, *args: Any) -> None:
        from cutlass import cute

        if self.calls is not None:
            self.calls.append(args)
            return
        if self.compiled is None:
            self.compiled = cute.compile(self.host, *self.arguments, **self.options)
        self.compiled(*args)


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
        requests.append(Requested(function, args, options))
        return requests[-1]

    def refuse(dsl: BaseDSL, function: Any, *args: Any, **kwargs: Any) -> None:
        raise WithoutCompile(function.__name__)

    with (
        mock.patch.object(CompileCallable, "_compile", note),
        mock.patch.object(BaseDSL, "_func", refuse),
        mock.patch.object(CudaDialectJitCompiledFunction, "__call__", side_effect=CompiledBefore),
        mock.patch.object(TVMFFIJitCompiledFunctionBase, "__call__", side_effect=CompiledBefore),
    ):
        try:
            yield requests
        finally:
            for request in requests:
                request.calls = None


@dataclass(frozen=True)
class TensorType:
    """What cute.compile knows of a tensor. align: of its address, in bytes; None for an element's. None among the sizes
    and strides stands for one that is known at run time only.
    """

    align: int | None
    shape: tuple[int | None, ...]
    stride: tuple[int | None, ...]


def tensor_type(argument: Any) -> TensorType | None:
    """The type of a wrapped tensor, or of one without data; None for anything else."""
    from cutlass.cute import runtime

    if isinstance(argument, runtime._FakeTensor):
        parts: Any = (argument.shape, argument.stride)
        return TensorType(
            argument._assumed_align, *(tuple(n if isinstance(n, int) else None for n in part) for part in parts)
        )
    if isinstance(argument, runtime._Tensor):
        *_, layout = argument.__cache_key__  # "generic o (?,4):(1,?{i64 div=2})"
        texts = layout.partition(" o ")[2].split(":")
        modes = (tuple(int(n["static"]) if n["static"] else None for n in MODE.finditer(text)) for text in texts)
        return TensorType(argument._assumed_align, *modes)
    return None
