"""nvcc, which comes with pip (nvidia-cuda-nvcc), and headers of its own version.

An environment has CUDA's headers in another version: torch's CUDA build keeps them at its own, 13.0, which has no
cuda_tile.h, and elsewhere pip takes the newest. There, `python -m tutorlib.compiling.nvcc` puts nvcc's beside them;
`make` does so when it sets up.
"""

import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from tutorlib.compiling.errors import ToolMissing
from tutorlib.compiling.packaged import packaged_program

NVCC, HEADERS = "nvidia-cuda-nvcc", "nvidia-cuda-runtime"  # packages
BESIDE = Path(sys.prefix, "cuda-headers", "nvidia", "cu13", "include")


@cache
def nvcc_path() -> Path:
    """Raises ModuleNotFoundError where the package is missing."""
    if (nvcc := packaged_program(NVCC, "nvcc")) is None:
        raise ModuleNotFoundError(f"nvcc is missing: pip install {NVCC}", name=NVCC)
    return nvcc


def nvcc_command() -> list[str]:
    """nvcc, and where it finds headers of its version.

    Raises ModuleNotFoundError, and ToolMissing where there is no host compiler, or are no such headers.
    """
    nvcc = nvcc_path()
    if shutil.which("gcc") is None:
        raise ToolMissing("nvcc needs a C++ compiler, and there is no gcc here (Debian, Ubuntu: apt install g++)")
    if headers_fit():
        return [str(nvcc)]
    if not BESIDE.exists():
        raise ToolMissing(f"nvcc needs headers of its own version: run {sys.executable} -m tutorlib.compiling.nvcc")
    return [str(nvcc), "-I", str(BESIDE)]


def headers_fit() -> bool:
    """Whether the environment's headers have nvcc's version."""
    try:
        return metadata.version(HEADERS) == metadata.version(NVCC)
    except metadata.PackageNotFoundError:
        return False


def add_headers() -> None:
    """Put headers of nvcc's version beside others, once. Raises PackageNotFoundError and CalledProcessError."""
    if not headers_fit() and not BESIDE.exists():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(BESIDE.parents[2])]
        wanted = f"{HEADERS}=={metadata.version(NVCC)}"
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wanted], check=True)


if __name__ == "__main__":
    add_headers()
