"""Tile IR, what cuTile makes of a kernel: plain data, without code for the host, which tileiras makes a cubin of.

A cubin of tile kernels holds a program for the host, too (its section .nv.host), which the driver runs in the process
that loads it: a cubin is safe to load only if its author is trusted.
"""

import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path

from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.cubin import sections
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.outside import packaged_program, run_compiler

TOOLKIT = ("CUDA_HOME", "CUDA_PATH")  # another CUDA, whose libraries tileiras would take for its own


@lru_cache(maxsize=64)
def compile_tile_ir(tile_ir: bytes, arch: str, opt_level: int = 3) -> Compiled:
    """A cubin, byte for byte as cuTile compiles it. arch: "sm_90". Raises CompileFailed and ToolMissing."""
    tileiras = packaged_program("nvidia-cuda-tileiras", "tileiras")
    environment = {name: value for name, value in os.environ.items() if name not in TOOLKIT}
    with tempfile.TemporaryDirectory() as folder:
        file, cubin = Path(folder) / "kernel.bytecode", Path(folder) / "kernel.cubin"
        file.write_bytes(tile_ir)
        done = run_compiler(
            [tileiras, "--gpu-name", arch, f"-O{opt_level}", "--lineinfo", "-o", cubin, file], Path(folder), environment
        )
        if done.returncode:
            raise CompileFailed(f"tileiras refuses its Tile IR: {' '.join(done.stderr.split())[:240]}")
        return inspect_tile_kernel(arch, cubin.read_bytes())


def inspect_tile_kernel(arch: str, cubin: bytes) -> Compiled:
    """The resources of a tile kernel's cubin."""
    return inspect_kernel(arch, ptx_of(cubin), cubin, dynamic_smem=0, by_ptxas=False)


def ptx_of(cubin: bytes) -> str:
    """The PTX that a tile kernel's cubin carries."""
    text = next((data for name, _, _, data in sections(cubin) if name == ".nv_debug_ptx_txt"), b"")
    return text.replace(b"\0", b"\n").decode()


def entries_of(ptx: str) -> list[tuple[str, tuple[str, ...]]]:
    """Name and parameters of each kernel, "ptr", "u64", "u32", "f32", …, without those that the driver adds."""
    return [
        (
            name,
            tuple("ptr" if ptr else kind for kind, ptr in re.findall(r"(?m)^\s*\.param \.(\w+)( \.ptr)?", parameters)),
        )
        for name, parameters in re.findall(r"\.entry (\w+)\((.*?)\)\s", ptx, re.DOTALL)
    ]
