"""Compiling CuTe kernels for a target GPU, on any machine."""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.aborts import no_abort
from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.errors import CompileFailed, compile_failure, name_of
from tutorlib.compiling.spec import TensorSpec

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class CompiledCute(Compiled):
    """A CuTe host function. function: to call on such a GPU, with cute.Tensors of the same types."""

    function: Callable[..., None] = field(repr=False, compare=False)


def compile_cute(answer: Callable[..., None], specs: Sequence[TensorSpec], arch: str = "sm_80") -> CompiledCute:
    """Compile a @cute.jit host function and the kernels that it launches, for tensors of these specs.

    arch: "sm_80", "sm_90a", "sm_100a", …; wgmma, TMA multicast and tcgen05 need the "a".
    Raises CompileFailed; an unwritten answer's NotImplementedError("Exercise …") passes through.
    """
    import cutlass.memory
    from cutlass import cute

    fakes = [spec.fake() for spec in specs]
    with tempfile.TemporaryDirectory() as folder:
        options = f"--gpu-arch {arch} --keep-ptx --keep-cubin --dump-dir {folder}"
        built = with_reader_line(lambda more: cute.compile(answer, *fakes, options=f"{options} {more}"))
    ptx, cubin = built.artifacts.PTX, built.artifacts.CUBIN
    if not isinstance(cubin, bytes):
        raise CompileFailed(f"{name_of(answer)} launches no kernel")
    compiled = inspect_kernel(arch, ptx, cubin, dynamic_smem(str(built.ir_module)), by_ptxas=True)
    limit = cutlass.memory.get_smem_capacity_in_bytes(arch.rstrip("af"))
    if compiled.smem_bytes > limit:
        raise CompileFailed(
            f"{name_of(answer)} asks for {compiled.smem_bytes:,} bytes of shared memory; "
            f"a block on {arch} can have {limit:,}"
        )
    return CompiledCute(**vars(compiled), function=built)


def call_host(answer: Callable[..., None], *args: Any) -> None:
    """Call a @cute.jit function that launches nothing: it is compiled for the CPU, where that is new, and runs there.

    Raises as compile_cute does.
    """
    from cutlass import cute

    with_reader_line(lambda more: cute.compile(answer, *args, options=more) if more else answer(*args))


def cute_arguments(tensors: "Sequence[Tensor]", dynamic: bool) -> list[Any]:
    """Torch tensors, row-major, as a compiled host function takes them."""
    from cutlass.cute.runtime import from_dlpack

    def argument(tensor: "Tensor") -> Any:
        static = from_dlpack(tensor, assumed_align=16)
        return static.mark_layout_dynamic(leading_dim=tensor.ndim - 1) if dynamic else static

    return [argument(tensor) for tensor in tensors]


def compilations() -> int:
    """How many functions CuTe has compiled in this process for direct calls; each is kept for the next call like it."""
    from cutlass.cutlass_dsl import CuTeDSL

    return len(CuTeDSL._get_dsl().jit_cache)


def with_reader_line(build: Callable[[str], Any]) -> Any:
    """build(more options), whose failures become CompileFailed.

    One that does not say where it is happens a second time with line numbers kept, which makes longer PTX.
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


def dynamic_smem(host_ir: str) -> int:
    """Bytes of dynamic shared memory in a host function's lowered IR: the third field of each cudaLaunchConfig_t."""
    config = r"llvm\.getelementptr %\d+\[0, 2\] : .*struct<\(array<3 x i32>, array<3 x i32>, i64,"
    sizes = []
    for place in re.findall(rf"(%\d+) = {config}", host_ir):
        for value in re.findall(rf"llvm\.store (%\d+), {place} : i64", host_ir):
            sizes += re.findall(rf"{value} = llvm\.mlir\.constant\((\d+) : i64\)", host_ir)
    return max(map(int, sizes), default=0)


def cute_message(error: Exception) -> str:
    """What is wrong, in one line, without the DSL's colours and boxes."""
    from cutlass.base_dsl.common import DSLBaseError

    if not isinstance(error, DSLBaseError):
        return f"{type(error).__name__}: {error}"
    cause = str(error.cause or "")
    if "Verification failed" in cause:  # "… error: "source"("file":line:col): 'cute.memref.store' op expects …"
        return re.sub(r".*?error: (unknown|\".*?\"\(.*?\)): ", "", cause.split("\n note:")[0], flags=re.DOTALL)
    return error.message
