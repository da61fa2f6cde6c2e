"""The attributes of functions that CuTe and cuTile decorate and compile, and how often CuTe compiles."""

from pathlib import Path
from typing import Any

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


def function_of(value: Any) -> Any:
    """The Python function under a @ct.kernel, for which cuTile has no public name; any other value unchanged."""
    if any(str(kind.__module__).startswith("cuda.tile") for kind in type(value).__mro__):
        return getattr(value, "_pyfunc", value)
    return value


def opt_level(kernel: Any, arch: str) -> int:
    """At which level cuTile optimises a kernel for an architecture, "sm_90"."""
    level: int = kernel._compiler_options.opt_level_for_target(arch)
    return level
