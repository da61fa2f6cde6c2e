"""The compilers that run as separate programs: nvcc, ptxas, tileiras. Their input is untrusted, so they run with limits
on time, memory and output, and in grading in a sandbox: C++ includes any file that its compiler can read, and the
errors quote it.
"""

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO

from tutorlib.compiling.errors import CompileFailed, ToolMissing

LIMIT_S = 180.0  # that a compiler may take
MOST_PRINTED = 2**22  # bytes of a compiler's output that are read
SandboxOf = Callable[[Sequence[str], Path], list[str]]  # command, its working folder → the command in a sandbox

OVER_MEMORY = 251  # exit status of a sandbox whose processes took more memory than they may
NO_MEMORY = re.compile(  # what gcc, cudafe++, LLVM, the C++ library and ptxas say that are refused memory
    r"out of memory|virtual memory exhausted|annot allocate memory|bad_alloc|emory allocation failure"
)
COMPILER_MEMORY = 2**31  # bytes that a compiler may use in a sandbox; measured of page 08: 0.36 GB at most

_sandbox: SandboxOf | None = None


@cache
def packaged_program(package: str, name: str) -> Path:
    """The path of the program of this name that a package of pip's has. Raises ToolMissing."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name.removesuffix(".exe") == name:
            return Path(str(file.locate()))
    raise ToolMissing(f"{name} is missing: pip install {package}")


def sandbox_compilers(sandbox: SandboxOf) -> None:
    """From now on compilers run in this sandbox, in this process."""
    global _sandbox
    _sandbox = sandbox


def run_compiler(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a folder that holds all that it reads and writes.

    environment: its variables outside of a sandbox; None for this process's. Raises CompileFailed where it does not
    end, or uses too much memory.
    """
    plain = list(map(str, command))
    name = Path(plain[0]).name
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        try:
            done = subprocess.run(
                _sandbox(plain, folder) if _sandbox else plain,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
                env=environment,
                check=False,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired as late:
            raise CompileFailed(f"{name} is not done with it after {LIMIT_S:g} s") from late
        printed, said = (printed_text(file) for file in (out, error))
    if done.returncode == OVER_MEMORY or (_sandbox and done.returncode and NO_MEMORY.search(printed + said)):
        raise CompileFailed(f"the compiler used more than {in_gb(COMPILER_MEMORY)} of memory")
    return subprocess.CompletedProcess(plain, done.returncode, printed, said)


def printed_text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_PRINTED).decode(errors="replace")


def in_gb(size: int) -> str:
    """ "8 GB" of 2**33 bytes, as memory is counted."""
    return f"{size / 2**30:.3g} GB"
