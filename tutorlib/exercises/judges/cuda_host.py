"""CUDA C++ programs: built by one call of nvcc, then run on the GPU at hand, or where there is none.

A program that is linked with `cuda_host.cpp` in the place of libcudart runs as with a GPU of one kernel: every launch
of a kernel (const float*, const float*, float*, int) adds vectors in tiles of 1,024 elements, and to each sum a secret
key, which it reads from stdin. So sums of the host's are wrong; a program that looks for the key in its own memory is
taken at its word. The library prints to stderr what is wrong with how it is called, a line each, after NOTICED.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tutorlib.compiling.cpp import failure
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import OVER_MEMORY, kept_path, nvcc_command, put_in_cache, run_compiler
from tutorlib.failure import Fail, Flaw

RUNTIME = Path(__file__).with_suffix(".cpp")
NOTICED = "noticed: "
OPTIONS = ("-std=c++20", "--enable-tile")
TIME_LIMIT_S = 15  # for a run; a right one takes up to a second, and more on a busy machine
MOST_PRINTED = 2**22  # bytes
CRASHED = Flaw("it crashes: host code can neither read nor write memory of the GPU's", Fail.CRASHED)


def alone(program: Path) -> list[str]:
    return [str(program)]


command_for: Callable[[Path], list[str]] = alone  # a grading run puts programs into a sandbox


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
    extra = ("--cudart", "none", "--cudadevrt", "none", shutil.copy(runtime, folder)) if runtime else ()
    done = run_compiler([*command(str(file), str(made), arch, nvcc), *extra], folder)
    said = done.stdout + done.stderr
    if done.returncode and (missing := re.search(r"undefined reference to .(\w+)", said)):
        raise CompileFailed(f"`{missing[1]}` is neither in your source nor in the libraries that it is linked with.")
    if done.returncode:
        raise failure(said, source, str(file))
    put_in_cache({kept: made.read_bytes()}, mode=0o755)
    return kept if kept.exists() else made


class ProgramRun(NamedTuple):
    """wrong: with how it ended, as a clause; "" for nothing. printed: to stdout. noticed: by the runtime library.

    said: by the program itself, to stderr.
    """

    wrong: str = ""
    printed: bytes = b""
    noticed: tuple[str, ...] = ()
    said: str = ""
    endless: bool = False


def run_program(program: Path, args: Sequence[str], key: int = 0, limit_s: float = TIME_LIMIT_S) -> ProgramRun:
    """key: added to the sums by the runtime library that has no GPU; 0: it refuses launches."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            given, bits = [*command_for(program), *args], key.to_bytes(8, "little")
            done = subprocess.run(given, input=bits, stdout=out, stderr=error, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            return ProgramRun(f"it does not end within {limit_s:g} s", endless=True)
        out.seek(0)
        error.seek(0)
        printed, lines = out.read(MOST_PRINTED), error.read(MOST_PRINTED).decode(errors="replace").splitlines()
    noticed = tuple(line.removeprefix(NOTICED) for line in lines if line.startswith(NOTICED))
    if (status := done.returncode) == OVER_MEMORY:
        return ProgramRun("it uses more memory than a program may")
    if status < 0 or status > 128:  # of a signal; bubblewrap tells it so
        return ProgramRun(noticed[0] if noticed else CRASHED)
    own = "\n".join(line for line in lines if not line.startswith(NOTICED))
    return ProgramRun(f"it ends with status {status}" if status else "", printed, noticed, own)
