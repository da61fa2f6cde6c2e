"""The CuTe DSL's launches, simulated wherever the compiled function is called."""

import contextlib
import ctypes
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from unittest import mock

import cuda.bindings.driver as driver
import cutlass
from cutlass import testing, utils
from cutlass.base_dsl.dsl import DSLSingletonMeta
from cutlass.base_dsl.jit_executor import JitCompiledFunction
from cutlass.cute import testing as cute_testing

from tests.outside.pretended_gpu import SMS, PretendedGPU
from tutorlib.dsl.cute.host_module import INT, POINTER, HostCall, call_engine, runtime_names
from tutorlib.dsl.cute.locations import locations
from tutorlib.simulate.ptx.ir import Module
from tutorlib.simulate.ptx.languages.cute_host import Recorded, Runtime, record_launches
from tutorlib.simulate.ptx.languages.cute_lines import STACKS, Stacks
from tutorlib.simulate.ptx.languages.cute_memory import OnDevice

OF_TVM_FFI = (  # of the DSL's own runtime, which functions for TVM FFI call
    "cuda_dialect_init_library_once",
    "cuda_dialect_unload_library_once",
    "cuda_dialect_get_error_name",
    "CuteDSLRT_TVMFFISetRaisedCudaError",
)


@dataclass(frozen=True)
class Prepared:
    """A compiled function whose arguments are packed already, as `record_launches` wants one."""

    built: Any
    packed: Sequence[Any]

    @property
    def ir_module(self) -> Any:
        return self.built.ir_module

    @property
    def function_name(self) -> str:
        return self.built.function_name

    def generate_execution_args(self) -> tuple[Sequence[Any], Sequence[Any]]:
        return self.packed, ()


def run_once(call: Callable[..., Any], *args: Any, **options: Any) -> float:
    """In the place of the autotuner's benchmark."""
    timing = ("warmup_iterations", "iterations", "use_cold_l2", "print_verbose", "current_stream")
    call(*args, **{name: value for name, value in options.items() if name not in timing})
    return 1.0


@contextlib.contextmanager
def tvm_ffi_on(launch: Callable[[Module, Sequence[Recorded]], None], gpu: PretendedGPU) -> Iterator[None]:
    """Functions compiled with --enable-tvm-ffi: they take torch's tensors as they are, and call the runtime too."""
    import torch
    import tvm_ffi
    from cutlass.cutlass_dsl import tvm_ffi_provider as provider
    from tvm_ffi.libinfo import find_libtvm_ffi

    runtimes: dict[int, Runtime] = {}

    def create(self: Any) -> Any:
        runtime = runtimes[id(self)] = Runtime(gpu.parse(self.__ptx__), SMS)
        known = {name: (runtime.guarded(does), types) for name, (does, types) in runtime.functions().items()}
        self.engine = engine_without_driver(self, known, runtime.nothing, OF_TVM_FFI, [str(find_libtvm_ffi())])
        packed = ctypes.CFUNCTYPE(None, POINTER)(self.engine.raw_lookup(f"__tvm_ffi_{self.function_name}"))

        def call(handle: int, args: int, count: int, result: int) -> int:
            values = (POINTER(handle), POINTER(args), INT(count), POINTER(result), INT(0))
            packed((POINTER * len(values))(*map(ctypes.addressof, values)))
            return values[-1].value

        self.engine.kept.append(entry := ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, POINTER)(call))
        return tvm_ffi.Function.__from_extern_c__(ctypes.cast(entry, POINTER).value, keep_alive_object=self.engine)

    from_dlpack = tvm_ffi.from_dlpack

    def on_device(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return from_dlpack(OnDevice(gpu.hold(value).detach()))  # gradients too, which autograd makes
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(on_device, value))
        return type(value)(map(on_device, value)) if type(value) in (list, tuple) else value

    def followed(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *map(on_device, args), **{name: on_device(value) for name, value in kwargs.items()})
            runtime = runtimes[id(self)]
            launches, runtime.launches = runtime.launches, []
            if runtime.error:
                raise runtime.error
            launch(runtime.module, launches)
            return result

        return called

    with contextlib.ExitStack() as stack:
        base = provider.TVMFFIJitCompiledFunctionBase
        stack.enter_context(mock.patch.object(tvm_ffi, "from_dlpack", on_device))
        stack.enter_context(mock.patch.object(base, "_create_tvm_ffi_function", create))
        for kind in (provider.TVMFFIJitCompiledFunction, provider.TVMFFIJitCompiledFunctionWithKwargs):
            stack.enter_context(mock.patch.object(kind, "__call__", followed(kind.__call__)))
        yield


def engine_without_driver(
    built: Any, runtime: Mapping[str, HostCall], other: Callable[..., int], more: Sequence[str], libraries: list[str]
) -> Any:
    """As `call_without_driver` makes one, with its kernels loaded. more: functions of the DSL's own runtime."""
    from cutlass._mlir.execution_engine import ExecutionEngine

    engine = ExecutionEngine(built.ir_module, opt_level=0, shared_libs=libraries)
    engine.kept = []
    for name in [*runtime_names(built), *more]:
        does, types = runtime.get(name, (other, (POINTER,) * 10))
        callback = ctypes.CFUNCTYPE(INT, *types)(does)
        engine.kept.append(callback)
        engine.raw_register_runtime(name, ctypes.cast(callback, POINTER))
    library = POINTER()
    library_at = ctypes.pointer(library)
    call_engine(engine, "cuda_load", [ctypes.addressof(library_at)])
    return engine


@contextlib.contextmanager
def cute_on(gpu: PretendedGPU, arch: str) -> Iterator[None]:
    """What the DSL compiles is for this target ("sm_90a"), and what it runs, the simulator runs."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        settings = {
            "arch": arch,
            "keep_ptx": True,
            "dump_dir": folder,
            "lineinfo": True,
            "disable_file_caching": True,
            "no_cache": True,
        }
        for dsl in DSLSingletonMeta._instances.values():
            stack.enter_context(mock.patch.multiple(dsl.envar, **settings))
        stacks, parsed = Stacks(), {}

        def launch(module: Module, launches: Sequence[Recorded]) -> None:
            for each in launches:
                gpu.launch(each.of(module, stacks.finder(module)))

        plain = JitCompiledFunction.run_compiled_program

        def run(self: Any, packed: Sequence[Any]) -> int:
            if ".entry" not in self.__ptx__:  # a host function that launches nothing
                return plain(self, packed)
            if id(self) not in parsed:
                parsed[id(self)] = self, gpu.parse(self.__ptx__)
            module = parsed[id(self)][1]
            launch(module, record_launches(Prepared(self, packed), module, (), SMS))
            return 0

        def benchmark(
            call: Any, *, workspace_generator: Any = None, kernel_arguments: Any = None, **options: Any
        ) -> float:
            """Runs what has not run yet, and takes 1 µs."""
            if isinstance(call, JitCompiledFunction) and id(call) not in parsed:
                arguments = workspace_generator() if workspace_generator else kernel_arguments
                call(*arguments.args, **arguments.kwargs)
            return 1.0

        stack.enter_context(mock.patch.object(JitCompiledFunction, "run_compiled_program", run))
        if find_spec("tvm_ffi"):
            stack.enter_context(tvm_ffi_on(launch, gpu))
        for module in (testing, cute_testing):
            stack.enter_context(mock.patch.object(module, "benchmark", benchmark))
        stack.enter_context(mock.patch.object(testing, "_benchmark_for_autotune", run_once))
        for name, result in (("cuInit", ()), ("cuDeviceGetCount", (1,))):
            returned = (driver.CUresult.CUDA_SUCCESS, *result)
            stack.enter_context(mock.patch.object(driver, name, return_value=returned))
        for name in ("initialize_cuda_context", "stream_sync"):
            stack.enter_context(mock.patch.object(cutlass.cuda, name))
        hardware = utils.HardwareInfo
        stack.enter_context(mock.patch.object(hardware, "__init__", return_value=None))
        for name, value in {
            "get_max_active_clusters": lambda self, cluster_size, stream=None: max(SMS // cluster_size, 1),
            "get_device_multiprocessor_count": lambda self: SMS,
            "get_l2_cache_size_in_bytes": lambda self: 50 * 2**20,
        }.items():
            stack.enter_context(mock.patch.object(hardware, name, value))
        stack.enter_context(locations(STACKS, stacks.number))
        yield
