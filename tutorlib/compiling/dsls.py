"""CuTe and cuTile kernels, compiled for a target GPU on any machine, and Python modules made of text.

cuTile compiles by way of Tile IR: plain data, without code for the host, which tileiras makes a cubin of. A cubin of
tile kernels holds a program for the host, too (its section .nv.host), which the driver runs in the process that loads
it: a cubin is safe to load only if its author is trusted.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import util
from io import BytesIO
from multiprocessing.util import Finalize
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.errors import CompileFailed, compile_failure, name_of
from tutorlib.compiling.programs import cubin_by, sections
from tutorlib.compiling.spec import TensorSpec, fakes
from tutorlib.dsl.failure import Fail, Flaw
from tutorlib.dsl.launching import dynamic_smem
from tutorlib.dsl.refusals import cute_message
from tutorlib.dsl.tracing import no_abort

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class CompiledCute(Compiled):
    """A CuTe host function. function: to call on such a GPU, with cute.Tensors of the same types."""

    function: Callable[..., None] = field(repr=False, compare=False)


def compile_cute(answer: Callable[..., None], specs: Sequence[Any], arch: str = "sm_80") -> CompiledCute:
    """Compile a @cute.jit host function and the kernels that it launches, for tensors of these specs.

    specs: other arguments than a TensorSpec are as `cute.compile` takes them.
    arch: "sm_80", "sm_90a", "sm_100a", …; wgmma, TMA multicast and tcgen05 need the "a".
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    import cutlass.memory
    from cutlass import cute

    with tempfile.TemporaryDirectory() as folder:
        options = f"--gpu-arch {arch} --keep-ptx --keep-cubin --dump-dir {folder}"
        built = with_reader_line(lambda more: cute.compile(answer, *fakes(specs), options=f"{options} {more}"))
    ptx, cubin = built.__ptx__, built.__cubin__
    if not isinstance(cubin, bytes):
        raise CompileFailed(Flaw(f"{name_of(answer)} launches no kernel", Fail.LAUNCHES_NOTHING))
    compiled = inspect_kernel(arch, ptx, cubin, dynamic_smem(built), by_ptxas=True)
    limit = cutlass.memory.get_smem_capacity_in_bytes(arch.rstrip("af"))
    if compiled.smem_bytes > limit:
        says = f"{name_of(answer)} asks for {compiled.smem_bytes:,} bytes of shared memory"
        raise CompileFailed(f"{says}; a block on {arch} can have {limit:,}")
    return CompiledCute(**vars(compiled), function=built)


def call_host(answer: Callable[..., None], *args: Any, run: bool = True) -> None:
    """Call a @cute.jit function that launches nothing: it is compiled for the CPU, where that is new, and runs there.

    run: False to compile it alone. Raises as compile_cute does.
    """
    from cutlass import cute

    with_reader_line(lambda more: answer(*args) if run and not more else cute.compile(answer, *args, options=more))


def cute_arguments(tensors: "Sequence[Tensor]", dynamic: bool) -> list[Any]:
    """Torch tensors as a compiled host function takes them; the last mode whose stride is 1 is the contiguous one."""
    from cutlass.cute.runtime import from_dlpack

    static = [from_dlpack(tensor, assumed_align=16) for tensor in tensors]
    if not dynamic:
        return static
    contiguous = [tensor.ndim - 1 - tensor.stride()[::-1].index(1) for tensor in tensors]
    return [each.mark_layout_dynamic(mode) for each, mode in zip(static, contiguous, strict=True)]


def with_reader_line(build: Callable[[str], Any]) -> Any:
    """build(more options), whose failures become CompileFailed.

    A failure that does not name its line is provoked again with line numbers kept, which makes longer PTX.
    """

    def attempt(more: str) -> Any:
        try:
            with no_abort():
                return build(more)
        except Exception as error:  # DSLBaseError, MLIRError and whatever the reader's own lines raise
            if isinstance(error, NotImplementedError) and str(error).startswith("Exercise "):
                raise
            raise compile_failure(error, cute_message(error)) from error

    try:
        return attempt("")
    except CompileFailed as failed:
        if failed.line:
            raise
    return attempt("--generate-line-info")


@lru_cache(maxsize=64)
def compile_tile_ir(tile_ir: bytes, arch: str, opt_level: int = 3) -> Compiled:
    """A cubin, byte for byte as cuTile compiles it. arch: "sm_90". Raises CompileFailed and ToolMissing."""
    options = "--gpu-name", arch, f"-O{opt_level}", "--lineinfo"
    return inspect_tile_kernel(arch, cubin_by("nvidia-cuda-tileiras", "tileiras", options, tile_ir, "Tile IR")[0])


def inspect_tile_kernel(arch: str, cubin: bytes) -> Compiled:
    """The resources of a tile kernel's cubin."""
    return inspect_kernel(arch, ptx_of(cubin), cubin, dynamic_smem=0, by_ptxas=False)


def ptx_of(cubin: bytes) -> str:
    """The PTX that a tile kernel's cubin carries."""
    text = next((data for name, _, _, data in sections(cubin) if name == ".nv_debug_ptx_txt"), b"")
    return text.replace(b"\0", b"\n").decode()


def entries_of(ptx: str) -> list[tuple[str, tuple[str, ...]]]:
    """Name and parameters of each kernel, "ptr", "u64", "u32", "f32", …, without those that the driver adds."""
    entries = re.findall(r"\.entry (\w+)\((.*?)\)\s", ptx, re.DOTALL)
    each = [(name, re.findall(r"(?m)^\s*\.param \.(\w+)( \.ptr)?", parameters)) for name, parameters in entries]
    return [(name, tuple("ptr" if ptr else kind for kind, ptr in kinds)) for name, kinds in each]


def compile_cutile(kernel: Any, args: Sequence[Any], arch: str = "sm_90") -> Compiled:
    """Compile a @ct.kernel for these arguments: a TensorSpec for each array, plain values for constants.

    arch: "sm_80", "sm_90", "sm_100", …
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    return inspect_tile_kernel(arch, exported(kernel, args, arch, "cubin"))


def exported(kernel: Any, args: Sequence[Any], arch: str, form: Literal["cubin", "tileir_bytecode"]) -> bytes:
    """As `compile_cutile`; the bytes of the cubin, or of the Tile IR that `compile_tile_ir` takes."""
    with refusals():
        return export(kernel, args, arch, form)


def export(kernel: Any, args: Sequence[Any], arch: str, form: Literal["cubin", "tileir_bytecode"]) -> bytes:
    """The same, but raises cuTile's own errors."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    parameters = [arg.constraint() if isinstance(arg, TensorSpec) else arg for arg in args]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v2())
    file = BytesIO()
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


def module_from(text: str, name: str) -> ModuleType:
    """The module. Raises CompileFailed where the text is no Python, or raises as it is imported."""
    try:
        return executed(text, name)
    except SyntaxError as error:
        place = f"line {error.lineno}, `{(error.text or '').strip()}`"
        raise CompileFailed(f"{place}: {error.msg}", error.lineno or 0) from error
    except Exception as error:
        raise CompileFailed(f"importing it raises {type(error).__name__}: {error}") from error


def executed(text: str, name: str) -> ModuleType:
    """The module. Raises what executing the text raises."""
    file = lasting_folder() / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return module_of(file, name)


def module_of(file: Path, name: str) -> ModuleType:
    """A file as a module of this name, which is imported nowhere else. Raises what executing it raises."""
    spec = util.spec_from_file_location(name, file)
    assert spec is not None  # a .py file has both
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    others = sys.modules.get(name)
    sys.modules[name] = module  # where a dataclass looks it up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
        if others is not None:
            sys.modules[name] = others
    return module


def lasting_folder() -> Path:
    """A folder that lasts as long as this process: a kernel's source is read when it is compiled."""
    folder = tempfile.mkdtemp(prefix="tutor-text-")
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=0)  # unlike atexit, also in a child of multiprocessing
    return Path(folder)
