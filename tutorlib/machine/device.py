"""The GPU at hand, and the kernels that it can run."""

import ctypes
import os
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tutorlib.machine.features import Feature, cute_target
from tutorlib.machine.hardware import Hardware, hardware_of

NO_GPU = "no GPU here"
MIN_DRIVER = {"12": 525, "13": 580}  # by CUDA major version: CUDA Toolkit release notes, minor version compatibility


@dataclass(frozen=True)
class GPU:
    """The GPU at hand. arch: its sm_ number ("90"); driver: None where nvidia-ml-py is missing."""

    name: str
    arch: str
    sms: int
    l2: int
    memory: int
    driver: str | None

    @property
    def hardware(self) -> Hardware | None:
        return hardware_of(self.name)


@cache
def gpu() -> GPU | None:
    """The current CUDA device of torch; None where torch finds none: `obstacle` says why.

    A process that is shown none does not look for one: the driver would be in it then, and a fork cannot use that.
    Nor is torch asked, whose import takes seconds, where there is no driver.
    """
    if find_spec("torch") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "" or not may_have_gpu():
        return None
    import torch

    with warnings.catch_warnings(action="ignore"):  # torch warns of an old driver; so does `obstacle`
        if not torch.cuda.is_available():
            return None
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return GPU(
        name=found.name,
        arch=f"{found.major}{found.minor}",
        sms=found.multi_processor_count,
        l2=found.L2_cache_size,
        memory=found.total_memory,
        driver=driver_version(),
    )


def may_have_gpu() -> bool:
    """Whether CUDA's driver may be here: in the kernel, or as the library through which torch looks for a GPU."""
    if sys.platform != "linux" or Path("/proc/driver/nvidia").exists():
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def need_gpu() -> GPU:
    """The GPU at hand, for code that runs on one. Raises RuntimeError where there is none."""
    if (found := gpu()) is None:
        raise RuntimeError(obstacle())
    return found


def obstacle() -> str:
    """Why torch finds no GPU, in one line: there is none, or what keeps torch from it."""
    if find_spec("torch") is None:
        return "the package torch is missing"
    if (driver := driver_version()) is None:
        return NO_GPU
    import torch

    cuda = torch.version.cuda
    if cuda is None:
        return f"the driver ({driver}) finds a GPU, and this torch is a build without CUDA"
    needed = MIN_DRIVER.get(cuda.split(".")[0], 0)
    if int(driver.split(".")[0]) < needed:
        return f"driver {driver} is too old for torch's CUDA {cuda}: it needs {needed} or newer"
    return f"the driver ({driver}) is there, and torch finds no GPU: is CUDA_VISIBLE_DEVICES set?"


def driver_version() -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # no driver, or no nvidia-ml-py
        return None


def why_not(feature: Feature) -> str | None:
    """Why this machine cannot run a kernel that needs a feature, in a few words; None where it can."""
    found = gpu()
    if found is None:
        return obstacle()
    return None if feature.on(found.arch) else f"this GPU is sm_{found.arch}, without {feature}"


def compile_target() -> str:
    """CuTe's compilation target for the GPU at hand: "sm_89", "sm_90a"."""
    return cute_target(need_gpu().arch)


def tile_target() -> str:
    """cuTile's and Tile C++'s compilation target for the GPU at hand: "sm_89", "sm_90"."""
    return f"sm_{need_gpu().arch}"
