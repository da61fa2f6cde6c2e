"""One entry for kernels of every language."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tutorlib.dsl.cutile.kernels import function_of
from tutorlib.simulate.host_functions import call_cute, call_function, call_tile_kernel, is_cute, is_tile_kernel
from tutorlib.simulate.kept import ENDING, KeptLaunch, replay
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.report import Report
from tutorlib.simulate.signatures import function_name, parameter_names
from tutorlib.simulate.sources import simulate_source
from tutorlib.simulate.stand_in.enter import stand_in
from tutorlib.simulate.stand_in.gpu import StandInGpu

ARCH = "80"


def simulate(
    kernel: Any,
    *arguments: Any,
    arch: str = ARCH,
    grid: Sequence[int] = (),
    block: Sequence[int] = (),
    cluster: Sequence[int] = (),
    smem: int = 0,
    entry: str = "",
    dynamic: bool = False,
    traced: bool = False,
    exact: bool = False,
) -> Report:
    """Run a kernel on this machine's CPU; it reads and writes the tensors in place, as on a GPU.

        simulate(host, a, b, c)                                 # a @cute.jit function, or an object whose call is one
        simulate(launch, a, b)                                  # a Python function that launches cuTile or CuTe kernels
        simulate(kernel, a, b, c, 128, grid=(4,))               # a @ct.kernel
        simulate(Path("scale.ptx"), x, y, 1024, grid=(8,))      # PTX, Triton's for example
        simulate(Path("scale.cu"), x, y, 1024, grid=(8,), block=(128,))
        simulate(Path("kernel.launch"))                         # what `tutor simulate --keep` kept

    arguments: of the kernel or host function, in order: torch tensors in ordinary memory and numbers. Where a CuTe host
        function takes a CUDA stream, one is filled in.
    arch: the compute capability to compile for, "80", "90a" or "100a"; PTX has its own.
    grid: blocks along x, y and z, for a kernel that no host function launches. block: threads of a block of PTX or CUDA
        C++; (): as many as the kernel declares; cluster: the same of a cluster's blocks. smem: bytes of dynamic shared
        memory of these. entry: a part of the kernel's name, where a source has several.
    dynamic: whether a CuTe host function is compiled for tensors of any size, as after `mark_layout_dynamic`; else for
        these sizes.
    traced: whether each launch's report keeps what its first block did, for a picture.
    exact: whether tensor cores add up as an H200's do, bit for bit, instead of in fp32, which is faster.
    kernel: of sources, a Path to a file, or the text.
    Raises ValueError if the arguments do not fit the kernel, or no GPU takes the launch; TypeError for something that
    is no kernel; CompileFailed; and NotImplementedError where the simulator lacks what the kernel uses.
    """
    if not (callable(kernel) or isinstance(kernel, str | Path)):
        raise TypeError(f"{kernel!r} is no kernel, host function or source")
    for number, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor) and argument.device.type != "cpu":
            raise ValueError(f"argument {number} is on {argument.device}; the simulator takes tensors on the CPU")
    reports: list[LaunchReport] = []
    gpu = StandInGpu(arch, reports.append, traced, exact)
    names, tensors = argument_names(kernel, len(arguments)), {}
    for name, argument in zip(names, arguments, strict=True):
        if isinstance(argument, torch.Tensor):
            tensors[name] = gpu.hold(argument, name)
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    returned: Any = None
    with stand_in(lambda: gpu):
        if isinstance(kernel, Path) and kernel.suffix == ENDING:
            gpu.take("", lambda: replay(KeptLaunch.read(kernel), traced=traced)[0])
        elif isinstance(kernel, str | Path):
            gpu.take(entry, lambda: simulate_source(kernel, arguments, arch, grid, block, smem, entry, traced, cluster))
        elif is_cute(kernel):
            call_cute(kernel, arguments, dynamic)
        elif is_tile_kernel(kernel):
            call_tile_kernel(kernel, arguments, grid)
        else:
            returned = call_function(kernel, arguments)
    if not reports:
        raise ValueError(f"{function_name(kernel)} launches no kernel")
    changed = {name: tensor for name, tensor in tensors.items() if not same_bytes(tensor, before[name])}
    return Report(arch, tuple(reports), results(returned) or changed)


def argument_names(kernel: Any, count: int) -> list[str]:
    """What findings and `Report.outputs` call the arguments."""
    if isinstance(kernel, str | Path):
        return [f"argument {number}" for number in range(count)]
    return parameter_names(function_of(kernel) if is_tile_kernel(kernel) else kernel, count)


def same_bytes(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))


def results(returned: Any) -> dict[str, Tensor]:
    """The tensors that a function returned."""
    if isinstance(returned, torch.Tensor):
        return {"result": returned}
    several = returned if isinstance(returned, tuple | list) else ()
    return {f"result {n}": value for n, value in enumerate(several) if isinstance(value, torch.Tensor)}
