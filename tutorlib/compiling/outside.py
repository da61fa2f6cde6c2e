"""nvcc, a program of its own. Who compiles what strangers wrote puts a wall around it: C++ includes any file that its
compiler can read, and the errors quote it.
"""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tutorlib.compiling.errors import CompileFailed

LIMIT_S = 180.0  # that it may take
Wall = Callable[[Sequence[str], Path], list[str]]  # command, the folder that it works in → the command behind a wall

_wall: Wall | None = None


def wall_in(wall: Wall) -> None:
    """From now on it runs behind this wall, in this process."""
    global _wall
    _wall = wall


def run_compiler(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess:
    """The command in a folder that holds all that it reads and writes. Raises CompileFailed where it does not end."""
    plain = list(map(str, command))
    try:
        return subprocess.run(
            _wall(plain, folder) if _wall else plain,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileFailed(f"nvcc is not done with it after {LIMIT_S:g} s") from error
