"""Compiling cuTile kernels for a target GPU, on any machine, by way of Tile IR: plain data, without code for the host,
which tileiras makes a cubin of.

A cubin of tile kernels holds a program for the host, too (its section .nv.host), which the driver runs in the process
that loads it: a cubin is safe to load only if its author is trusted.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.errors import CompileFailed, compile_failure
from tutorlib.compiling.outside import packaged_program, run_compiler
from tutorlib.compiling.ptxas import sections
from tutorlib.compiling.spec import TensorSpec

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


def compile_cutile(kernel: Any, args: Sequence[Any], arch: str = "sm_90") -> Compiled:
    """Compile a @ct.kernel for these arguments: a TensorSpec for each array, plain values for constants.

    arch: "sm_80", "sm_90", "sm_100", …
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    return inspect_tile_kernel(arch, exported(kernel, args, arch, "cubin"))


def exported(kernel: Any, args: Sequence[Any], arch: str, form: Literal["cubin", "tileir_bytecode"]) -> bytes:
    """As `compile_cutile`; the bytes of the cubin, or of the Tile IR that `compile_tile_ir` takes."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    parameters = [arg.constraint() if isinstance(arg, TensorSpec) else arg for arg in args]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v2())
    file = BytesIO()
    with refusals():
        export_kernel(kernel, [signature], file, gpu_code=arch, output_format=form)
    return file.getvalue()


@contextmanager
def refusals() -> Iterator[None]:
    """What cuTile's compiler refuses raises CompileFailed."""
    from cuda.tile import TileError

    try:
        yield
    except TileError as error:
        raise compile_failure(error, error.message.strip()) from error


def compile_all(jobs: Iterable[tuple[Any, Sequence[Any], str]]) -> list[Compiled]:
    """`compile_cutile` of each (kernel, args, arch), on as many cores as there are; in the order of the jobs."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda job: compile_cutile(*job), jobs))
