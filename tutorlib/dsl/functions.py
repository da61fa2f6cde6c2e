"""The attributes of functions that CuTe and cuTile decorate and compile, and how often CuTe compiles."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

HERE = str(Path(__file__).parent)


def is_jit(function: Any) -> bool:
    """Whether it carries the mark of a @cute.jit function. Any code can set the mark."""
    return getattr(function, "_decorator_kind", None) == "jit"


def is_kernel(function: Any) -> bool:
    """Whether it carries the mark of a @cute.kernel."""
    return getattr(function, "_decorator_kind", None) == "kernel"


def is_of_the_dsl(file: str) -> bool:
    """Whether a file of code belongs to the CuTe DSL, or to this package."""
    return "/nvidia_cutlass_dsl/" in file or file.startswith(HERE)


def compilations() -> int:
    """How many functions CuTe has compiled in this process for direct calls; each is kept for the next call like it."""
    from cutlass.cutlass_dsl import CuTeDSL

    return len(CuTeDSL._get_dsl().jit_cache)


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
        # a compilation that raises leaves its options to the next one
        mock.patch.object(dsl, "compile_options", dsl.compile_options),
        mock.patch.object(CompileCallable, "_compile", note),
    ):
        yield noted


def function_of(value: Any) -> Any:
    """The Python function under a @ct.kernel, for which cuTile has no public name; any other value unchanged."""
    if any(str(kind.__module__).startswith("cuda.tile") for kind in type(value).__mro__):
        return getattr(value, "_pyfunc", value)
    return value


def opt_level(kernel: Any, arch: str) -> int:
    """At which level cuTile optimises a kernel for an architecture, "sm_90"."""
    level: int = kernel._compiler_options.opt_level_for_target(arch)
    return level
