"""One entry for kernels of every language."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tutorlib.simulate.host_functions import simulate_python
from tutorlib.simulate.kept import ENDING, KeptLaunch, replay
from tutorlib.simulate.ptx.languages.cpp import simulate_source
from tutorlib.simulate.ptx.pieces import is_memory, piece_of
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.report import Report
from tutorlib.simulate.signatures import function_name, parameter_names

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
    kernel: of sources, a Path to a file, or the text.
    Raises ValueError if the arguments do not fit the kernel, or no GPU takes the launch; TypeError for something that
    is no kernel; CompileFailed; and NotImplementedError where the simulator lacks what the kernel uses.
    """
    if not (callable(kernel) or isinstance(kernel, str | Path)):
        raise TypeError(f"{kernel!r} is no kernel, host function or source")
    for number, argument in enumerate(arguments):
        if str(device := getattr(argument, "device", "cpu")) != "cpu":
            raise ValueError(f"argument {number} is on {device}; the simulator takes tensors on the CPU")
    named = dict(zip(argument_names(kernel, len(arguments)), arguments, strict=True))
    tensors = {name: argument for name, argument in named.items() if is_memory(argument)}
    before = {name: piece_of(name, tensor).bytes.copy() for name, tensor in tensors.items()}
    returned: Mapping[str, Any] = {}
    launches: Sequence[LaunchReport]
    if isinstance(kernel, str | Path):
        if isinstance(kernel, Path) and kernel.suffix == ENDING:
            launches = [replay(KeptLaunch.read(kernel), traced=traced)[0]]
        else:
            launches = [simulate_source(kernel, named, arch, grid, block, smem, entry, traced, cluster)]
    else:
        launches, returned = simulate_python(kernel, named, arch, grid, dynamic, traced)
    if not launches:
        raise ValueError(f"{function_name(kernel)} launches no kernel")
    changed = {name: one for name, one in tensors.items() if (piece_of(name, one).bytes != before[name]).any()}
    return Report(arch, tuple(launches), returned or changed)


def argument_names(kernel: Any, count: int) -> list[str]:
    """What findings and `Report.outputs` call the arguments."""
    if isinstance(kernel, str | Path):
        return [f"argument {number}" for number in range(count)]
    return parameter_names(kernel, count)
