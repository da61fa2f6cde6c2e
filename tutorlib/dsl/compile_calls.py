"""Calls of cute.compile, noted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


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
