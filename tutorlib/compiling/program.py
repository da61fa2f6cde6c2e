"""CUDA C++ programs, tile kernels and a main in one file, built by one call of nvcc."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import platformdirs

from tutorlib.compiling.cpp import failure
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.nvcc import NVCC, nvcc_command
from tutorlib.compiling.outside import run_compiler

OPTIONS = ("-std=c++20", "--enable-tile")
WITHOUT_RUNTIME = ("--cudart", "none", "--cudadevrt", "none")


def command(source: str, program: str, arch: str, nvcc: Sequence[str] = ("nvcc",)) -> list[str]:
    """The command that builds a program from a file. arch: "sm_90", …"""
    return [*nvcc, *OPTIONS, "-arch", arch, "-o", program, source]


def build_program(source: str, arch: str, runtime: Path | None = None) -> Path:
    """The program, which stays in the user's cache for the next time.

    runtime: a C++ file that takes the place of the CUDA runtime library.
    Raises CompileFailed with the first error, ModuleNotFoundError and ToolMissing.
    """
    nvcc, version = nvcc_command(), metadata.version(NVCC)
    others = runtime.read_text(encoding="utf-8") if runtime else ""
    key = hashlib.sha256("\0".join([version, arch, *OPTIONS, source, others]).encode()).hexdigest()
    kept = platformdirs.user_cache_path("tutorlib") / "programs" / key
    if kept.exists():
        return kept
    folder = Path(tempfile.mkdtemp(prefix="tutor-program-"))
    file, made = folder / "program.cu", folder / "program"
    file.write_text(source, encoding="utf-8")
    extra: Sequence[str | Path] = ()
    if runtime:
        extra = (*WITHOUT_RUNTIME, shutil.copy(runtime, folder))
    done = run_compiler([*command(str(file), str(made), arch, nvcc), *extra], folder)
    said = done.stdout + done.stderr
    if done.returncode and (missing := re.search(r"undefined reference to .(\w+)", said)):
        raise CompileFailed(f"`{missing[1]}` is neither in your source nor in the libraries that it is linked with.")
    if done.returncode:
        raise failure(said, source, str(file))
    with suppress(OSError):  # a home that cannot be written to
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(made.read_bytes())
        fresh.chmod(0o755)
        fresh.replace(kept)
        return kept
    return made
