"""ptxas, the last of the compilers: the machine code of PTX, and its messages: spills, wgmma that it cannot overlap."""

import re
import tempfile
from functools import lru_cache
from pathlib import Path

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.compiling.outside import packaged_program, run_compiler


@lru_cache(maxsize=64)
def assemble(ptx: str) -> tuple[bytes, str]:
    """The cubin of this PTX for its own target, and what `ptxas --verbose` prints.

    Raises CompileFailed and ToolMissing.

    The line numbers and debug sections of PTX that comes out of a cubin are left out: its table of files is lost.
    """
    code = re.sub(r"(?m)^\s*\.(loc|file)\b.*$", "", re.split(r"(?m)^\s*\.section\b", ptx)[0])
    target = re.findall(r"(?m)^\.target (\w+)", code)[0]
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(code, encoding="utf-8")
        ptxas = packaged_program("nvidia-cuda-nvcc", "ptxas")
        command = [ptxas, "--verbose", "--gpu-name", target, "--output-file", cubin, source]
        done = run_compiler(command, Path(folder))
        if done.returncode:
            raise CompileFailed(f"ptxas refuses its PTX: {' '.join(done.stderr.split())[:240]}")
        return cubin.read_bytes(), done.stderr


def machine_code(ptx: str) -> bytes:
    """The cubin of this PTX for its own target, instruction by instruction that of the CuTe DSL's own ptxas.

    Raises CompileFailed and ToolMissing.
    """
    return assemble(ptx)[0]


def spilled(ptx: str) -> int | None:
    """Bytes of spill stores for each thread, which only ptxas knows: a cubin holds no more than the stack's size.

    The CuTe DSL carries a ptxas of its own (both of CUDA 13.4) and keeps to itself what that says. None: no ptxas here.
    """
    try:
        return max(int(stores) for stores in re.findall(r"(\d+) bytes spill stores", assemble(ptx)[1]))
    except ToolMissing:
        return None


def serialized(ptx: str) -> str | None:
    """Why ptxas lets each wgmma wait until the one before is done, in its own words (its remarks C7510 to C7514).

    None where it does not: several are then in flight at a time. Raises ToolMissing.
    """
    found = re.search(r"serialized due to (.*?) in the function", assemble(ptx)[1])
    return found and " ".join(found[1].split())
