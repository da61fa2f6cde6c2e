"""The CuTe DSL: what it compiles is for the stand-in GPU, and where a compiled function is called, that GPU runs it."""

import ctypes
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any
from unittest import mock

from tutorlib.dsl.cute.aborts import no_abort
from tutorlib.dsl.cute.host_module import INT, POINTER, call_engine, engine_without_driver
from tutorlib.dsl.cute.locations import locations
from tutorlib.simulate.ptx.languages.cute_host import Runtime
from tutorlib.simulate.ptx.languages.cute_lines import STACKS, Stacks
from tutorlib.simulate.ptx.languages.cute_memory import OnDevice
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.stand_in.gpu import SMS, StandInGpu

TIMING = ("warmup_iterations", "iterations", "use_cold_l2", "print_verbose", "current_stream")


class Hosts:
    """The compiled host functions that were called, each with an engine that takes its launches to the GPU."""

    def __init__(self, gpu: StandInGpu, stacks: Stacks) -> None:
        self.gpu, self.stacks = gpu, stacks
        self.loaded: dict[int, tuple[Any, Any, Runtime]] = {}  # by ids of functions, which are kept for that

    def load(self, built: Any, libraries: Sequence[str] = ()) -> tuple[Any, Runtime]:
        """The function's engine, and the runtime that it calls."""
        if id(built) not in self.loaded:
            runtime = Runtime(parse_ptx(built.__ptx__), SMS)
            engine = engine_without_driver(built, runtime.calls(), runtime.nothing, libraries)
            self.loaded[id(built)] = built, engine, runtime
        return self.loaded[id(built)][1:]

    def run(self, built: Any, packed: Sequence[Any]) -> int:
        engine, _ = self.load(built)
        call_engine(engine, built.function_name, packed)
        self.launch_all(built)
        return 0

    def launch_all(self, built: Any) -> None:
        """Launch what the function has asked for."""
        _, _, runtime = self.loaded[id(built)]
        launches, error = runtime.take()
        if error:
            raise error
        for each in launches:
            self.gpu.launch(each.of(runtime.module, self.stacks.finder(runtime.module)))


@contextmanager
def cute_on(gpu: StandInGpu) -> Iterator[None]:
    import cuda.bindings.driver as driver
    import cutlass
    from cutlass import testing, utils
    from cutlass.base_dsl.dsl import DSLSingletonMeta
    from cutlass.base_dsl.jit_executor import JitCompiledFunction
    from cutlass.cute import testing as cute_testing

    stacks = Stacks()
    hosts, plain = Hosts(gpu, stacks), JitCompiledFunction.run_compiled_program

    def run(self: Any, packed: Sequence[Any]) -> Any:
        return hosts.run(self, packed) if ".entry" in (self.__ptx__ or "") else plain(self, packed)

    def benchmark(call: Any, *, workspace_generator: Any = None, kernel_arguments: Any = None, **options: Any) -> float:
        """Runs what has not run yet, and takes 1 µs."""
        if isinstance(call, JitCompiledFunction) and id(call) not in hosts.loaded:
            arguments = workspace_generator() if workspace_generator else kernel_arguments
            call(*arguments.args, **arguments.kwargs)
        return 1.0

    hardware = {
        "__init__": lambda self, *args: None,
        "get_max_active_clusters": lambda self, cluster_size, stream=None: max(SMS // cluster_size, 1),
        "get_device_multiprocessor_count": lambda self: SMS,
        "get_l2_cache_size_in_bytes": lambda self: 50 * 2**20,
    }
    success = driver.CUresult.CUDA_SUCCESS
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = {"arch": f"sm_{gpu.arch}", "keep_ptx": True, "dump_dir": folder, "lineinfo": True}
        settings |= {"disable_file_caching": True, "no_cache": True}
        patches = [mock.patch.multiple(dsl.envar, **settings) for dsl in DSLSingletonMeta._instances.values()]
        patches += [mock.patch.object(module, "benchmark", benchmark) for module in (testing, cute_testing)]
        patches += [mock.patch.object(cutlass.cuda, name) for name in ("initialize_cuda_context", "stream_sync")]
        patches += [mock.patch.object(utils.HardwareInfo, name, value) for name, value in hardware.items()]
        patches += [
            mock.patch.object(JitCompiledFunction, "run_compiled_program", run),
            mock.patch.object(testing, "_benchmark_for_autotune", run_once),
            mock.patch.object(driver, "cuInit", return_value=(success,)),
            mock.patch.object(driver, "cuDeviceGetCount", return_value=(success, 1)),
        ]
        for patch in patches:
            stack.enter_context(patch)
        if find_spec("tvm_ffi"):
            stack.enter_context(tvm_ffi_on(hosts))
        stack.enter_context(no_abort())
        stack.enter_context(locations(STACKS, stacks.number))
        yield


def run_once(call: Callable[..., Any], *args: Any, **options: Any) -> float:
    """In the place of the autotuner's benchmark."""
    call(*args, **{name: value for name, value in options.items() if name not in TIMING})
    return 1.0


@contextmanager
def tvm_ffi_on(hosts: Hosts) -> Iterator[None]:
    """Functions compiled with --enable-tvm-ffi: they take torch's tensors as they are."""
    import torch
    import tvm_ffi
    from cutlass.cutlass_dsl import tvm_ffi_provider as provider
    from tvm_ffi.libinfo import find_libtvm_ffi

    def create(self: Any) -> Any:
        engine, _ = hosts.load(self, [str(find_libtvm_ffi())])
        packed = ctypes.CFUNCTYPE(None, POINTER)(engine.raw_lookup(f"__tvm_ffi_{self.function_name}"))

        def call(handle: int, args: int, count: int, result: int) -> int:
            values = (POINTER(handle), POINTER(args), INT(count), POINTER(result), INT(0))
            packed((POINTER * len(values))(*map(ctypes.addressof, values)))
            return values[-1].value

        engine.kept.append(entry := ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, POINTER)(call))
        return tvm_ffi.Function.__from_extern_c__(ctypes.cast(entry, POINTER).value, keep_alive_object=engine)

    from_dlpack = tvm_ffi.from_dlpack

    def on_device(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return from_dlpack(OnDevice(hosts.gpu.hold(value).detach()))  # gradients too, which autograd makes
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(on_device, value))
        return type(value)(map(on_device, value)) if type(value) in (list, tuple) else value

    def followed(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = call(self, *map(on_device, args), **{name: on_device(value) for name, value in kwargs.items()})
            hosts.launch_all(self)
            return result

        return called

    with ExitStack() as stack:
        patch = mock.patch.object
        stack.enter_context(patch(tvm_ffi, "from_dlpack", on_device))
        stack.enter_context(patch(provider.TVMFFIJitCompiledFunctionBase, "_create_tvm_ffi_function", create))
        for kind in (provider.TVMFFIJitCompiledFunction, provider.TVMFFIJitCompiledFunctionWithKwargs):
            stack.enter_context(patch(kind, "__call__", followed(kind.__call__)))
        yield
