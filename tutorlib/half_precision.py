"""bf16 and fp16 in host functions, on every CPU.

The CuTe DSL compiles host functions for the CPU at hand. Where that CPU has no instruction for a conversion
(AVX512-BF16 for bf16, F16C for fp16), LLVM calls a function of the compiler's runtime library, and nvidia-cutlass-dsl
4.8 links no such library: "JIT session error: Symbols not found: [ __truncsfbf2 ]". None of the course's packages has
these functions, and a system's libgcc has those for bf16 only since GCC 13. This module adds them to each host module
that computes in bf16 or fp16.
"""

import re
import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from tutorlib.dsl.launching import AfterImport

ENGINE = "cutlass._mlir.execution_engine"  # its ExecutionEngine makes machine code of a lowered module
HALF = re.compile(r"\bb?f16\b")  # in MLIR: f16, vector<8xbf16>


def install() -> None:
    """Make cutlass, now or as soon as it is imported, define the conversions that a CPU may lack."""
    if ENGINE in sys.modules:
        define_for(sys.modules[ENGINE])
    else:
        sys.meta_path.insert(0, AfterImport({ENGINE: lambda: define_for(sys.modules[ENGINE])}))


def define_for(engine: ModuleType) -> None:
    engine.ExecutionEngine.__init__ = with_conversions(engine.ExecutionEngine.__init__)


def with_conversions(make_engine: Callable[..., None]) -> Callable[..., None]:
    """ExecutionEngine.__init__, which first adds the definitions to a module that needs them."""

    @wraps(make_engine)
    def defined(self: Any, module: Any, *args: Any, **options: Any) -> None:
        if uses_halves(module):
            define_conversions(module)
        make_engine(self, module, *args, **options)

    return defined


def uses_halves(module: Any) -> bool:
    """Whether a host function of a lowered module names bf16 or fp16."""
    with module.context:
        functions = (operation for operation in module.body.operations if operation.operation.name == "llvm.func")
        return any(HALF.search(str(function)) for function in functions)


def define_conversions(module: Any) -> None:
    """Add the conversions of half_precision.mlir to a lowered module that does not define them."""
    from cutlass._mlir.ir import Module, SymbolTable  # type: ignore[attr-defined]  # its stub lacks them

    known = SymbolTable(module.operation)
    conversions = Module.parse(conversions_in_mlir(), module.context)
    for function in list(conversions.body.operations):
        if function.sym_name.value not in known:
            module.body.append(function)


@cache
def conversions_in_mlir() -> str:
    return Path(__file__).with_suffix(".mlir").read_text()
