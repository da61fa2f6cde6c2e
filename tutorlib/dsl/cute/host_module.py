"""A compiled host function's lowered module: its launches, and running it without a driver."""

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

POINTER, INT = ctypes.c_void_p, ctypes.c_int32
SUCCESS = 0  # cudaSuccess

# A function of CUDA's runtime, and the types of its arguments.
HostCall = tuple[Callable[..., int], tuple[Any, ...]]


def dynamic_smem(built: Any) -> int:
    """The most bytes of dynamic shared memory that a compiled host function launches a kernel with.

    It stands in its lowered IR: the third field of each cudaLaunchConfig_t.
    """
    host_ir = str(built.ir_module)
    config = r"llvm\.getelementptr %\d+\[0, 2\] : .*struct<\(array<3 x i32>, array<3 x i32>, i64,"
    sizes = []
    for place in re.findall(rf"(%\d+) = {config}", host_ir):
        for value in re.findall(rf"llvm\.store (%\d+), {place} : i64", host_ir):
            sizes += re.findall(rf"{value} = llvm\.mlir\.constant\((\d+) : i64\)", host_ir)
    return max(map(int, sizes), default=0)


def call_without_driver(
    built: Any, arguments: Sequence[Any], runtime: Mapping[str, HostCall], other: Callable[..., int]
) -> None:
    """Call a compiled host function (`cute.compile`'s result) on cute.Tensors, as `engine_without_driver` has it."""
    engine = engine_without_driver(built, runtime, other)
    values, owners = built.generate_execution_args(*arguments)
    call_packed(engine, built, values)
    del owners


def engine_without_driver(
    built: Any, runtime: Mapping[str, HostCall], other: Callable[..., int], libraries: Sequence[str] = ()
) -> Any:
    """A compiled host function with a CUDA runtime of one's own, its kernels loaded.

    runtime: by name, "_cudaLaunchKernelEx", the functions that it has; `other` is called for any that is not there,
    with ten pointers. None of them may raise: an exception cannot pass through compiled code. libraries: files of
    shared libraries that it calls, too.
    """
    from cutlass._mlir.execution_engine import ExecutionEngine

    engine: Any = ExecutionEngine(built.ir_module, opt_level=0, shared_libs=list(libraries))
    engine.kept = []
    for name in runtime_names(built):
        does, types = runtime.get(name, (other, (POINTER,) * 10))
        callback = ctypes.CFUNCTYPE(INT, *types)(does)
        engine.kept.append(callback)
        engine.raw_register_runtime(name, ctypes.cast(callback, POINTER))
    library = POINTER()
    library_at = ctypes.pointer(library)
    call_engine(engine, "cuda_load", [ctypes.addressof(library_at)])
    return engine


def runtime_names(built: Any) -> list[str]:
    """Of the functions of CUDA's runtime, and of the DSL's own, that a compiled host function declares."""
    return re.findall(r"(?m)^\s*llvm\.func [^@\n]*@((?:_?cu|CuteDSLRT)\w+)\((?!.*\{$)", str(built.ir_module))


def call_packed(engine: Any, built: Any, values: Sequence[Any]) -> None:
    """The compiled host function of an engine, on pointers to its arguments."""
    call_engine(engine, built.function_name, values)


def call_engine(engine: Any, name: str, values: Sequence[Any]) -> None:
    """A function of the engine, which takes a pointer to each argument and one to its result."""
    result = INT(SUCCESS)
    places = [value.value if isinstance(value, POINTER) else POINTER(value).value for value in values]
    packed = (POINTER * (len(places) + 1))(*places, ctypes.addressof(result))
    address = engine.raw_lookup(f"_mlir_ciface_{name}") or engine.raw_lookup(name)
    ctypes.CFUNCTYPE(None, POINTER)(address)(packed)
