"""CUDA C++ programs, tile kernels and a main in one file, built by one call of nvcc."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tutorlib.compiling.cpp import failure
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import kept_path, nvcc_command, put_in_cache, run_compiler

OPTIONS = ("-std=c++20", "--enable-tile")
WITHOUT_RUNTIME = ("--cudart", "none", "--cudadevrt", "none")


def command(source: str, program: str, arch: str, nvcc: Sequence[str] = ("nvcc",)) -> list[str]:
    """The command that builds a program from a file. arch: "sm_90", …"""
    return [*nvcc, *OPTIONS, "-arch", arch, "-o", program, source]


def build_program(source: str, arch: str, runtime: Path | None = None) -> Path:
    """The program, which stays in the user's cache for the next time.

    runtime: a C++ file that takes the place of the CUDA runtime library.
    Raises CompileFailed with the first error, and ToolMissing.
    """
    nvcc = nvcc_command()
    kept = kept_path("programs", arch, *OPTIONS, source, runtime.read_text(encoding="utf-8") if runtime else "")
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
    put_in_cache({kept: made.read_bytes()}, mode=0o755)
    return kept if kept.exists() else made
