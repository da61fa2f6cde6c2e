"""Compiling CuTe kernels for a target GPU, on any machine."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tutorlib.compiling.compiled import Compiled, inspect_kernel
from tutorlib.compiling.errors import CompileFailed, compile_failure, name_of
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.cute.aborts import no_abort
from tutorlib.dsl.cute.functions import compilations as compilations
from tutorlib.dsl.cute.taken_over import dynamic_smem
from tutorlib.dsl.failure import Fail, Flaw
from tutorlib.dsl.refusals import cute_message

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
    ptx, cubin = built.__ptx__, built.__cubin__
    if not isinstance(cubin, bytes):
        raise CompileFailed(Flaw(f"{name_of(answer)} launches no kernel", Fail.LAUNCHES_NOTHING))
    compiled = inspect_kernel(arch, ptx, cubin, dynamic_smem(built), by_ptxas=True)
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


def compile_host(answer: Callable[..., None], *args: Any) -> None:
    """Compile what `call_host` calls. Raises as that does."""
    from cutlass import cute

    with_reader_line(lambda more: cute.compile(answer, *args, options=more) if more else cute.compile(answer, *args))


def cute_arguments(tensors: "Sequence[Tensor]", dynamic: bool) -> list[Any]:
    """Torch tensors, row-major, as a compiled host function takes them."""
    from cutlass.cute.runtime import from_dlpack

    def argument(tensor: "Tensor") -> Any:
        static = from_dlpack(tensor, assumed_align=16)
        return static.mark_layout_dynamic(leading_dim=tensor.ndim - 1) if dynamic else static

    return [argument(tensor) for tensor in tensors]


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
