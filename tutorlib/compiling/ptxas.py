"""What ptxas, the last of the compilers, says of PTX: registers spilled, and wgmma that it could not overlap."""

import os
import re
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path


class NoPtxas(RuntimeError):
    """There is no ptxas on this machine. The message says how it gets there."""


@cache
def path() -> Path:
    """Where it is, in the package nvidia-cuda-nvcc. Raises NoPtxas."""
    try:
        files = metadata.files("nvidia-cuda-nvcc") or []
    except metadata.PackageNotFoundError:
        files = []
    found = next((Path(file.locate()) for file in files if file.name in ("ptxas", "ptxas.exe")), None)
    if found is None:
        raise NoPtxas("there is no ptxas here: pip install nvidia-cuda-nvcc")
    return found


def assemble(ptx: str) -> str:
    """What `ptxas --verbose` prints when it assembles this for its own target. Raises NoPtxas.

    The line numbers and debug sections of PTX that comes out of a cubin are left out: its table of files is lost.
    """
    code = re.sub(r"(?m)^\s*\.(loc|file)\b.*$", "", re.split(r"(?m)^\s*\.section\b", ptx)[0])
    target = re.findall(r"(?m)^\.target (\w+)", code)[0]
    command = [path(), "--verbose", "--gpu-name", target, "--output-file", os.devnull, "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stderr


def spilled(ptx: str) -> int | None:
    """Bytes of spill stores for each thread, which only ptxas knows: a cubin holds no more than the stack's size.

    The CuTe DSL carries a ptxas of its own (both of CUDA 13.4) and keeps to itself what that says. None: no ptxas here.
    """
    try:
        return max(int(stores) for stores in re.findall(r"(\d+) bytes spill stores", assemble(ptx)))
    except NoPtxas:
        return None


def serialized(ptx: str) -> str | None:
    """Why ptxas lets each wgmma wait until the one before is done, in its own words (its remarks C7510 to C7514).

    None where it does not: several are then under way at a time. Raises NoPtxas.
    """
    found = re.search(r"serialized due to (.*?) in the function", assemble(ptx))
    return found and " ".join(found[1].split())
