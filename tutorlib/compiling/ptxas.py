"""ptxas, the last of the compilers: the machine code of PTX, and its messages: spills, wgmma that it cannot overlap,
and what a cubin holds: its sections, and the resources that a kernel asks for.
"""

import re
import struct
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.compiling.outside import packaged_program, run_compiler

EIATTR_FRAME_SIZE, EIATTR_REGCOUNT = 0x11, 0x2F


def resources(cubin: bytes) -> tuple[int, int, int]:
    """Registers and stack bytes of each thread, static shared bytes of each block: what `cuobjdump -res-usage` shows.

    The section .nv.info is a list of attributes: a format byte, an attribute byte and a 16-bit value; format 4 says
    that the value counts the bytes that follow, here a symbol and a number (names as `cuobjdump -elf` prints them).
    """
    registers = stack = smem = 0
    for name, kind, size, data in sections(cubin):
        if name.startswith(".nv.shared.") and kind == SHT_NOBITS:
            smem = max(smem, size)
        if name != ".nv.info":
            continue
        at = 0
        while at < len(data):
            form, attribute, length = struct.unpack_from("<BBH", data, at)
            at += 4
            if form != 4:
                continue
            if attribute == EIATTR_REGCOUNT:
                registers = max(registers, struct.unpack_from("<II", data, at)[1])
            if attribute == EIATTR_FRAME_SIZE:
                stack = max(stack, struct.unpack_from("<II", data, at)[1])
            at += length
    return registers, stack, smem


SHT_NOBITS = 8  # a section that takes memory and no bytes of the file


def sections(elf: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """Name, type, size and bytes of each section of a little-endian ELF64 file."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * n) for n in range(count)]
    for name, kind, _, _, offset, size, *_ in headers:
        start = headers[names][4] + name
        data = b"" if kind == SHT_NOBITS else elf[offset : offset + size]
        yield elf[start : elf.index(b"\0", start)].decode(), kind, size, data


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
