"""Compiling cuTile kernels for a target GPU, on any machine."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Literal

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.errors import compile_failure
from tutorlib.compiling.spec import TensorSpec
from tutorlib.compiling.tile_ir import inspect_tile_kernel


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
