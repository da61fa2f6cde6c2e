"""nvcc, which comes with pip (nvidia-cuda-nvcc), and headers of its own version.

An environment has CUDA's headers in another version: torch's CUDA build keeps them at its own, 13.0, which has no
cuda_tile.h, and elsewhere pip takes the newest. There, `python -m tutorlib.compiling.nvcc` puts nvcc's beside them;
`make` does so when it sets up.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import platformdirs

from tutorlib.compiling.errors import ToolMissing
from tutorlib.compiling.outside import packaged_program

NVCC, HEADERS = "nvidia-cuda-nvcc", "nvidia-cuda-runtime"  # packages
BESIDE = Path(sys.prefix, "cuda-headers", "nvidia", "cu13", "include")


def nvcc_command() -> list[str]:
    """nvcc, and where it finds headers of its version. Raises ToolMissing: of nvcc, a host compiler, the headers."""
    nvcc = packaged_program(NVCC, "nvcc")
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


def kept_path(kind: str, *told: str) -> Path:
    """Where the user's cache keeps what this nvcc made; told: all that determines it."""
    key = hashlib.sha256("\0".join([metadata.version(NVCC), *told]).encode()).hexdigest()
    return platformdirs.user_cache_path("tutorlib") / kind / key


def put_in_cache(contents: Mapping[Path, bytes], mode: int = 0o644) -> None:
    """Write files of the cache, each as a whole: the one that is looked for comes last."""
    with suppress(OSError):  # a home that cannot be written to
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(content)
            fresh.chmod(mode)
            fresh.replace(path)


def add_headers() -> None:
    """Put headers of nvcc's version beside others, once. Raises PackageNotFoundError and CalledProcessError."""
    if not headers_fit() and not BESIDE.exists():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(BESIDE.parents[2])]
        wanted = f"{HEADERS}=={metadata.version(NVCC)}"
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wanted], check=True)


if __name__ == "__main__":
    add_headers()
