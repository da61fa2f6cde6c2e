"""The compilers that run as separate programs: nvcc, ptxas, tileiras; and what a cubin holds.

Their input is untrusted, so they run with limits on time, memory and output, and in grading in a sandbox: C++ includes
any file that its compiler can read, and the errors quote it.

nvcc comes with pip (nvidia-cuda-nvcc), and takes headers of its own version. An environment has CUDA's headers in
another version: torch's CUDA build keeps them at its own, 13.0, which has no cuda_tile.h, and elsewhere pip takes the
newest. There, `python -m tutorlib.compiling.programs` puts nvcc's beside them; `make` does so when it sets up.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

from tutorlib.compiling.errors import CompileFailed, ToolMissing

LIMIT_S = 180.0  # that a compiler may take
MOST_PRINTED = 2**22  # bytes of a compiler's output that are read
SandboxOf = Callable[[Sequence[str], Path], list[str]]  # command, its working folder → the command in a sandbox

OVER_MEMORY = 251  # exit status of a sandbox whose processes took more memory than they may
NO_MEMORY = re.compile(  # what gcc, cudafe++, LLVM, the C++ library and ptxas say that are refused memory
    r"out of memory|virtual memory exhausted|annot allocate memory|bad_alloc|emory allocation failure"
)
COMPILER_MEMORY = 2**31  # bytes that a compiler may use in a sandbox; measured of page 09: 0.36 GB at most

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


TOOLKIT = ("CUDA_HOME", "CUDA_PATH")  # another CUDA, whose libraries tileiras would take for its own


def run_compiler(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a folder that holds all that it reads and writes.

    Raises CompileFailed where it does not end, or uses too much memory.
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
                env={name: value for name, value in os.environ.items() if name not in TOOLKIT},
                check=False,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired as late:
            raise CompileFailed(f"{name} is not done with it after {LIMIT_S:g} s") from late
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read(MOST_PRINTED).decode(errors="replace"))
        printed, said = texts
    if done.returncode == OVER_MEMORY or (_sandbox and done.returncode and NO_MEMORY.search(printed + said)):
        raise CompileFailed(f"the compiler used more than {in_gb(COMPILER_MEMORY)} of memory")
    return subprocess.CompletedProcess(plain, done.returncode, printed, said)


def in_gb(size: int) -> str:
    """ "8 GB" of 2**33 bytes, as memory is counted."""
    return f"{size / 2**30:.3g} GB"


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
        raise ToolMissing(f"nvcc needs headers of its own version: run {sys.executable} -m tutorlib.compiling.programs")
    return [str(nvcc), "-I", str(BESIDE)]


def headers_fit() -> bool:
    """Whether the environment's headers have nvcc's version."""
    try:
        return metadata.version(HEADERS) == metadata.version(NVCC)
    except metadata.PackageNotFoundError:
        return False


def add_headers() -> None:
    """Put headers of nvcc's version beside others, once. Raises PackageNotFoundError and CalledProcessError."""
    if not headers_fit() and not BESIDE.exists():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(BESIDE.parents[2])]
        wanted = f"{HEADERS}=={metadata.version(NVCC)}"
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wanted], check=True)


if __name__ == "__main__":
    add_headers()


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
    return cubin_by(NVCC, "ptxas", ["--verbose", "--gpu-name", target], code.encode(), "PTX")


def cubin_by(package: str, name: str, options: Sequence[str], code: bytes, language: str) -> tuple[bytes, str]:
    """The cubin that a package's program makes of code, and what it prints. Raises CompileFailed and ToolMissing."""
    program = packaged_program(package, name)
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel"), Path(folder, "kernel.cubin")
        source.write_bytes(code)
        done = run_compiler([program, *options, "-o", cubin, source], Path(folder))
        if done.returncode:
            raise CompileFailed(f"{name} refuses its {language}: {' '.join(done.stderr.split())[:240]}")
        return cubin.read_bytes(), done.stderr


def machine_code(ptx: str) -> bytes:
    """The cubin of this PTX for its own target, instruction by instruction that of the CuTe DSL's own ptxas.

    Raises CompileFailed and ToolMissing.
    """
    return assemble(ptx)[0]


def spilled(ptx: str) -> int:
    """Bytes of spill stores for each thread, which only ptxas knows: a cubin holds no more than the stack's size."""
    return max(map(int, re.findall(r"(\d+) bytes spill stores", assemble(ptx)[1])))


def serialized(ptx: str) -> str | None:
    """Why ptxas lets each wgmma wait until the one before is done, in its own words (its remarks C7510 to C7514).

    None where it does not: several are then in flight at a time. Raises ToolMissing.
    """
    found = re.search(r"serialized due to (.*?) in the function", assemble(ptx)[1])
    return found and " ".join(found[1].split())


def disassemble(cubin: bytes) -> str:
    """The instructions of a cubin, a line each: predicate, opcode, operands; labels in lines of their own.

    Raises ToolMissing.
    """
    found = re.findall(r"(?m)^(\.L_\w+:)|^\s+/\*[0-9a-f]+\*/\s+(.*?)\s*;", listing_of(cubin))
    return "\n".join(label or " ".join(text.split()) for label, text in found)


def listing_of(cubin: bytes, *options: str) -> str:
    """nvdisasm's listing of a cubin. options: "-gi", source lines; "-gp", lines of the PTX. Raises ToolMissing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        nvdisasm = packaged_program("nvidia-cuda-nvdisasm", "nvdisasm")
        return run_compiler([nvdisasm, "-c", *options, file], Path(folder)).stdout
