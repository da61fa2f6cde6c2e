"""The CuTe DSL and cuTile where there is no GPU: CuTe compiles for a given GPU, launches are taken over, and
a compiled host function's lowered module runs without a driver.
"""

import ctypes
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest import mock


class AfterImport(MetaPathFinder):
    """For sys.meta_path: calls a function, once, when a module's import is done. then: by the module's name."""

    def __init__(self, then: dict[str, Callable[[], None]]) -> None:
        self.then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.then:
            return None
        then = self.then.pop(fullname)
        spec = find_spec(fullname)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_then(module: ModuleType) -> None:
                execute(module)
                then()

            spec.loader.exec_module = execute_and_then  # type: ignore[method-assign]
        return spec


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


def engine_without_driver(
    built: Any, runtime: Mapping[str, HostCall], other: Callable[..., int], libraries: Sequence[str] = ()
) -> Any:
    """A compiled host function with the caller's own CUDA runtime, its kernels loaded.

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
    call_packed(engine, built, [ctypes.addressof(library_at)], "cuda_load")
    return engine


def runtime_names(built: Any) -> list[str]:
    """Of the functions of CUDA's runtime, and of the DSL's own, that a compiled host function declares."""
    return re.findall(r"(?m)^\s*llvm\.func [^@\n]*@((?:_?cu|CuteDSLRT)\w+)\((?!.*\{$)", str(built.ir_module))


def call_engine(engine: Any, built: Any, arguments: Sequence[Any]) -> None:
    """The compiled host function of an engine, on cute.Tensors."""
    values, owners = built.generate_execution_args(*arguments)
    call_packed(engine, built, values)
    del owners


def call_packed(engine: Any, built: Any, values: Sequence[Any], name: str = "") -> None:
    """The host function, or another of the engine, on pointers to its arguments and its result."""
    name = name or built.function_name
    result = INT(SUCCESS)
    places = [value.value if isinstance(value, POINTER) else POINTER(value).value for value in values]
    packed = (POINTER * (len(places) + 1))(*places, ctypes.addressof(result))
    address = engine.raw_lookup(f"_mlir_ciface_{name}") or engine.raw_lookup(name)
    ctypes.CFUNCTYPE(None, POINTER)(address)(packed)


TIMING = ("warmup_iterations", "iterations", "use_cold_l2", "print_verbose", "current_stream")
L2_BYTES = 50 * 2**20


@contextmanager
def calls_taken_over(
    arch: str, sms: int, run: Callable[[Any, Sequence[Any]], None], names: dict[str, str]
) -> Iterator[None]:
    """In the block, host functions compile for `arch`, "sm_90a"; a function that has kernels is called by
    run(function, packed).

    packed: pointers to its arguments. names: gets the Python name of each kernel and host function, by its mangled
    name. Benchmarks run once and take 1 µs.
    """
    import cuda.bindings.driver as driver
    import cutlass
    from cutlass import testing, utils
    from cutlass.base_dsl.dsl import BaseDSL, DSLSingletonMeta
    from cutlass.base_dsl.jit_executor import JitCompiledFunction
    from cutlass.cute import testing as cute_testing

    as_it_is, mangle, ran = JitCompiledFunction.run_compiled_program, BaseDSL.mangle_name, set[int]()

    def taken_over(self: Any, packed: list[Any]) -> Any:
        if ".entry" not in (self.__ptx__ or ""):
            return as_it_is(self, packed)
        ran.add(id(self))
        run(self, packed)
        return 0

    def mangled(self: Any, name: str, *args: Any) -> str:
        made = mangle(self, name, *args)
        names[made] = name.removeprefix("cutlass_")
        return made

    def benchmark(call: Any, *, workspace_generator: Any = None, kernel_arguments: Any = None, **options: Any) -> float:
        if isinstance(call, JitCompiledFunction) and id(call) not in ran:
            arguments = workspace_generator() if workspace_generator else kernel_arguments
            call(*arguments.args, **arguments.kwargs)
        return 1.0

    hardware = {
        "__init__": lambda self, *args: None,
        "get_max_active_clusters": lambda self, cluster_size, stream=None: max(sms // cluster_size, 1),
        "get_device_multiprocessor_count": lambda self: sms,
        "get_l2_cache_size_in_bytes": lambda self: L2_BYTES,
    }
    success = driver.CUresult.CUDA_SUCCESS
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings: dict[str, Any] = {"arch": arch, "keep_ptx": True, "dump_dir": folder, "lineinfo": True}
        settings |= {"disable_file_caching": True, "no_cache": True}
        patches = [mock.patch.multiple(dsl.envar, **settings) for dsl in DSLSingletonMeta._instances.values()]
        patches += [mock.patch.object(module, "benchmark", benchmark) for module in (testing, cute_testing)]
        patches += [mock.patch.object(cutlass.cuda, name) for name in ("initialize_cuda_context", "stream_sync")]
        patches += [mock.patch.object(utils.HardwareInfo, name, value) for name, value in hardware.items()]
        patches += [
            mock.patch.object(JitCompiledFunction, "run_compiled_program", taken_over),
            mock.patch.object(BaseDSL, "mangle_name", mangled),
            mock.patch.object(testing, "_benchmark_for_autotune", benchmarked_once),
            mock.patch.object(driver, "cuInit", return_value=(success,)),
            mock.patch.object(driver, "cuDeviceGetCount", return_value=(success, 1)),
        ]
        for patch in patches:
            stack.enter_context(patch)
        yield


def benchmarked_once(call: Callable[..., Any], *args: Any, **options: Any) -> float:
    """In the place of the autotuner's benchmark."""
    call(*args, **{name: value for name, value in options.items() if name not in TIMING})
    return 1.0


@contextmanager
def ffi_calls_taken_over(
    load: Callable[[Any, Sequence[str]], Any], called: Callable[[Any], None], on_device: Callable[[Any], Any]
) -> Iterator[None]:
    """The same for functions compiled with --enable-tvm-ffi, which take torch's tensors as they are.

    load: gives a function's engine; it takes the shared libraries that the function calls. called: what is done after
    each call. on_device: a torch tensor as DLPack has those of a GPU.
    """
    import torch
    import tvm_ffi
    from cutlass.cutlass_dsl import tvm_ffi_provider as provider
    from tvm_ffi.libinfo import find_libtvm_ffi

    from_dlpack = tvm_ffi.from_dlpack

    def create(self: Any) -> Any:
        engine = load(self, [str(find_libtvm_ffi())])
        packed = ctypes.CFUNCTYPE(None, POINTER)(engine.raw_lookup(f"__tvm_ffi_{self.function_name}"))

        def call(handle: int, args: int, count: int, result: int) -> int:
            values = (POINTER(handle), POINTER(args), INT(count), POINTER(result), INT(0))
            packed((POINTER * len(values))(*map(ctypes.addressof, values)))
            return values[-1].value

        engine.kept.append(entry := ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, POINTER)(call))
        return tvm_ffi.Function.__from_extern_c__(ctypes.cast(entry, POINTER).value or 0, keep_alive_object=engine)

    def moved(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return from_dlpack(on_device(value))
        if type(value) in (list, tuple):
            return type(value)(map(moved, value))
        return type(value)(*map(moved, value)) if isinstance(value, tuple) else value  # of fields with names

    def followed(call: Callable[..., Any]) -> Callable[..., Any]:
        def taken_over(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *map(moved, args), **{name: moved(value) for name, value in kwargs.items()})
            called(self)
            return result

        return taken_over

    with ExitStack() as stack:
        patch = mock.patch.object
        stack.enter_context(patch(tvm_ffi, "from_dlpack", moved))
        stack.enter_context(patch(provider.TVMFFIJitCompiledFunctionBase, "_create_tvm_ffi_function", create))
        for kind in (provider.TVMFFIJitCompiledFunction, provider.TVMFFIJitCompiledFunctionWithKwargs):
            stack.enter_context(patch(kind, "__call__", followed(kind.__call__)))
        yield
