"""CUDA C++ programs: built by one call of nvcc, then run on the GPU at hand, or where there is none.

A program that is linked with `cuda_host.cpp` in the place of libcudart runs as with a GPU of one kernel: every launch
of a kernel (const float*, const float*, float*, int) adds vectors in tiles of 1,024 elements, and to each sum a number
that follows from the operands and a secret key, which it reads from stdin. So only a launch on the right operands
brings the right results; a program that looks for the key in its own memory is taken at its word. The library prints
to stderr what is wrong with how it is called, a line each, after NOTICED.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.compiling.cpp import failure
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import OVER_MEMORY, kept_path, nvcc_command, put_in_cache, run_compiler
from tutorlib.failure import Fail, Flaw

if TYPE_CHECKING:
    import numpy as np

RUNTIME = Path(__file__).with_suffix(".cpp")
NOTICED = "noticed: "
OPTIONS = ("-std=c++20", "--enable-tile")
WITHOUT_RUNTIME = ("--cudart", "none", "--cudadevrt", "none")
TIME_LIMIT_S = 15  # for a run; a right one takes up to a second, and more on a busy machine
MOST_PRINTED = 2**22  # bytes
CRASHED = Flaw("it crashes: host code can neither read nor write memory of the GPU's", Fail.CRASHED)


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
    extra = (*WITHOUT_RUNTIME, shutil.copy(runtime, folder)) if runtime else ()
    done = run_compiler([*command(str(file), str(made), arch, nvcc), *extra], folder)
    said = done.stdout + done.stderr
    if done.returncode and (missing := re.search(r"undefined reference to .(\w+)", said)):
        raise CompileFailed(f"`{missing[1]}` is neither in your source nor in the libraries that it is linked with.")
    if done.returncode:
        raise failure(said, source, str(file))
    put_in_cache({kept: made.read_bytes()}, mode=0o755)
    return kept if kept.exists() else made


@dataclass(frozen=True)
class ProgramRun:
    """wrong: with how it ended, as a clause; "" for nothing. printed: to stdout. noticed: by the runtime library.

    said: by the program itself, to stderr.
    """

    wrong: str = ""
    printed: bytes = b""
    noticed: tuple[str, ...] = ()
    said: str = ""
    endless: bool = False


CommandFor = Callable[[Path], AbstractContextManager[list[str]]]


@contextmanager
def without_sandbox(program: Path) -> Iterator[list[str]]:
    yield [str(program)]


command_for: CommandFor = without_sandbox


def sandbox_programs(sandbox: CommandFor) -> None:
    """From now on the programs of other processes' answers run where this says.

    sandbox: takes a program, gives the command that runs it, as long as it is entered.
    """
    global command_for
    command_for = sandbox


def run_program(program: Path, args: Sequence[str], key: bytes = b"", limit_s: float = TIME_LIMIT_S) -> ProgramRun:
    """key: 8 bytes for the runtime library that has no GPU; b"": it refuses launches."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        given.write(key)
        given.seek(0)
        try:
            with command_for(program) as start:
                done = subprocess.run(
                    [*start, *args], stdin=given, stdout=out, stderr=error, timeout=limit_s, check=False
                )
        except subprocess.TimeoutExpired:
            return ProgramRun(f"it does not end within {limit_s:g} s", endless=True)
        out.seek(0)
        error.seek(0)
        printed, lines = out.read(MOST_PRINTED), error.read(MOST_PRINTED).decode(errors="replace").splitlines()
    noticed = tuple(line.removeprefix(NOTICED) for line in lines if line.startswith(NOTICED))
    status = done.returncode
    if status == OVER_MEMORY:
        return ProgramRun("it uses more memory than a program may")
    if status < 0 or status > 128:  # of a signal; bubblewrap tells it so
        return ProgramRun(noticed[0] if noticed else CRASHED)
    own = "\n".join(line for line in lines if not line.startswith(NOTICED))
    return ProgramRun(f"it ends with status {status}" if status else "", printed, noticed, own)


def addends(a: "np.ndarray", b: "np.ndarray", key: bytes) -> "np.ndarray":
    """The numbers that the runtime library adds to the sums of these vectors of float32."""
    import numpy as np

    pairs = a.view(np.uint32).astype(np.uint64) << np.uint64(32) | b.view(np.uint32)
    mixed = (pairs ^ np.frombuffer(key, "<u8")[0]) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(32)) % np.uint64(999) + np.uint64(1)).astype(np.float32)
