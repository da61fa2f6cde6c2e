"""nvcc, which comes with pip (nvidia-cuda-nvcc), and headers of its own version.

torch's CUDA build keeps CUDA's headers in an environment at its own version, 13.0, and cuda_tile.h is younger. There,
`python -m tutorlib.compiling.nvcc` puts nvcc's beside them; `make` does so when it sets up.
"""

import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from tutorlib.compiling.errors import ToolMissing

PACKAGE = "nvidia-cuda-runtime"  # that has the headers
BESIDE = Path(sys.prefix, "cuda-headers", "nvidia", "cu13", "include")
TILES = "cuda_tile.h"


@cache
def nvcc_path() -> Path:
    """Raises ModuleNotFoundError where the package is missing."""
    try:
        files = metadata.files("nvidia-cuda-nvcc") or []
    except metadata.PackageNotFoundError:
        files = []
    nvcc = next((Path(file.locate()) for file in files if file.name == "nvcc"), None)
    if nvcc is None:
        raise ModuleNotFoundError("nvcc is missing: pip install nvidia-cuda-nvcc", name="nvidia-cuda-nvcc")
    return nvcc


def nvcc_command() -> list[str]:
    """nvcc, and where it finds headers of its version.

    Raises ModuleNotFoundError, and ToolMissing where there is no host compiler, or are no such headers.
    """
    nvcc = nvcc_path()
    if shutil.which("gcc") is None:
        raise ToolMissing("nvcc needs a C++ compiler, and there is no gcc here (Debian, Ubuntu: apt install g++)")
    if (own_headers() / TILES).exists():
        return [str(nvcc)]
    if not (BESIDE / TILES).exists():
        raise ToolMissing(f"nvcc's headers are older than it is here: run {sys.executable} -m tutorlib.compiling.nvcc")
    return [str(nvcc), "-I", str(BESIDE)]


def own_headers() -> Path:
    """Where nvcc looks by itself."""
    return nvcc_path().parents[1] / "include"


def add_headers() -> None:
    """Put headers of nvcc's version beside older ones, once. Raises ModuleNotFoundError and CalledProcessError."""
    if not any((include / TILES).exists() for include in (own_headers(), BESIDE)):
        wanted = f"{PACKAGE}=={metadata.version('nvidia-cuda-nvcc')}"
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(BESIDE.parents[2])]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wanted], check=True)


if __name__ == "__main__":
    add_headers()
