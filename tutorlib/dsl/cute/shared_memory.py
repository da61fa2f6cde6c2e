"""The pieces of shared memory that kernels allocate while they are traced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock


@dataclass(frozen=True)
class SharedPiece:
    """start: bytes from the beginning of the kernel's dynamic shared memory. fields: of a struct, (name, size, start)
    from the piece's own start.
    """

    start: int
    size: int
    fields: tuple[tuple[str, int, int], ...]


@contextmanager
def allocations(note: Callable[[str, SharedPiece], None]) -> Iterator[None]:
    """note(kernel's mangled name, piece) is called for each that a kernel allocates in the block.

    The DSL's compiler lays a kernel's pieces one after another, each aligned.
    """
    from cutlass import cute
    from cutlass.memory import SmemAllocator

    from tutorlib.dsl.cute.aborts import operation_around

    allocate, ends = SmemAllocator._smem_alloca, dict[str, int]()

    def noting(
        self: Any,
        layout: Any,
        dtype: Any,
        byte_alignment: int,
        swizzle: Any = None,
        struct_fields: Any = None,
        **more: Any,
    ) -> Any:
        made = allocate(self, layout, dtype, byte_alignment, swizzle, struct_fields, **more)
        kernel, align = operation_around("cuda.kernel"), max(byte_alignment, dtype.width // 8)
        start = -(-ends.get(kernel, 0) // align) * align
        size = cute.cosize(layout) * dtype.width // 8
        ends[kernel] = start + size
        note(kernel, SharedPiece(start, size, tuple(map(tuple, struct_fields or ()))))
        return made

    with mock.patch.object(SmemAllocator, "_smem_alloca", noting):
        yield
