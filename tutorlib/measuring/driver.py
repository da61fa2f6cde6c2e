"""Machine code, loaded and launched through the CUDA driver: a C++ kernel, or one whose launch was recorded."""

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.compiled import LaunchConfig, LaunchGrid
from tutorlib.compiling.cpp import CompiledCpp

if TYPE_CHECKING:
    from torch import Tensor

# PTX → ctypes. To PTX an int is a u32.
PARAMETER = {"ptr": ctypes.c_void_p, "u32": ctypes.c_int32, "u64": ctypes.c_int64, "f32": ctypes.c_float}
ALIGNMENT = 128  # of parameters: none of them asks for more
SMEM_UNASKED = 48 * 2**10  # bytes of dynamic shared memory that a function may have without more ado
CLUSTER_UNASKED = 8  # blocks of a cluster


def done(result: tuple) -> Any:
    """The values of a driver call's result. Raises RuntimeError if it was an error."""
    from cuda.bindings import driver

    if result[0] != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(driver.cuGetErrorString(result[0])[1].decode())
    return result[1] if len(result) > 1 else None


def load_function(cubin: bytes, name: str) -> Any:
    """A kernel of a cubin, on the GPU at hand. It stays loaded. Raises RuntimeError where the driver refuses.

    The driver runs what the cubin has for the host: load none that a stranger made.
    """
    import torch
    from cuda.bindings import driver

    torch.cuda.synchronize()  # makes the context that the module is loaded into, where this is the first use of the GPU
    module = done(driver.cuModuleLoadData(cubin))
    return done(driver.cuModuleGetFunction(module, name.encode()))


def load(
    compiled: CompiledCpp, grid: LaunchGrid, args: "Sequence[Tensor | float]", block: LaunchGrid = (1,)
) -> Callable[[], None]:
    """The kernel on the GPU at hand, ready to be launched on the current stream with these arguments.

    args: what `compiled.parameters` takes, tensors and numbers. block: threads of a block; a tile block counts as one.
    Raises RuntimeError where the driver refuses.
    """
    values = tuple(arg if isinstance(arg, int | float) else arg.data_ptr() for arg in args)
    kinds = tuple(PARAMETER[kind] for kind in compiled.parameters)
    return ready(load_function(compiled.cubin, compiled.name), LaunchConfig(grid, block), (values, kinds))


def prepare(function: Any, config: LaunchConfig, parameters: bytes, offsets: Sequence[int]) -> Callable[[], None]:
    """A recorded launch of a loaded function, ready to be made on the current stream.

    parameters: all of them as they lie in the parameter space; offsets: where each begins.
    Raises RuntimeError where the driver refuses.
    """
    memory = ctypes.create_string_buffer(len(parameters) + ALIGNMENT)
    start = -(-ctypes.addressof(memory) // ALIGNMENT) * ALIGNMENT
    ctypes.memmove(start, parameters, len(parameters))
    places = (ctypes.c_void_p * len(offsets))(*(start + offset for offset in offsets))
    return ready(function, config, ctypes.addressof(places), (memory, places))


def ready(function: Any, config: LaunchConfig, parameters: Any, kept: Any = None) -> Callable[[], None]:
    """A launch with parameters as cuda-bindings takes them. kept: the memory that they point to."""
    import torch
    from cuda.bindings import driver

    allow(function, config)
    described = driver_config(config)

    def launch(kept: Any = kept) -> None:
        described.hStream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        done(driver.cuLaunchKernelEx(described, function, parameters, 0))

    return launch


def allow(function: Any, config: LaunchConfig) -> None:
    """Request from the driver resources beyond a function's defaults."""
    from cuda.bindings import driver

    x, y, z = (*config.cluster, 1, 1)[:3]
    if config.dynamic_smem > SMEM_UNASKED:
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        done(driver.cuFuncSetAttribute(function, most, config.dynamic_smem))
    if x * y * z > CLUSTER_UNASKED:
        large = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        done(driver.cuFuncSetAttribute(function, large, 1))


def driver_config(config: LaunchConfig) -> Any:
    """The driver's CUlaunchConfig."""
    from cuda.bindings import driver

    described = driver.CUlaunchConfig()
    described.gridDimX, described.gridDimY, described.gridDimZ = (*config.grid, 1, 1)[:3]
    described.blockDimX, described.blockDimY, described.blockDimZ = (*config.block, 1, 1)[:3]
    described.sharedMemBytes = config.dynamic_smem
    attributes = []

    def add(kind: str) -> Any:
        attribute = driver.CUlaunchAttribute()
        attribute.id = getattr(driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{kind}")
        attributes.append(attribute)
        return attribute.value

    if any(n > 1 for n in config.cluster):
        size = add("CLUSTER_DIMENSION").clusterDim
        size.x, size.y, size.z = (*config.cluster, 1, 1)[:3]
    if config.cooperative:
        add("COOPERATIVE").cooperative = 1
    if config.overlapping:
        add("PROGRAMMATIC_STREAM_SERIALIZATION").programmaticStreamSerializationAllowed = 1
    described.attrs, described.numAttrs = attributes, len(attributes)
    return described
