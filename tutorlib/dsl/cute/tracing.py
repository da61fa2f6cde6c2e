"""While the CuTe DSL traces: the places in source code that its operations carry are replaced, and the pieces of shared
memory that kernels allocate are noted.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def locations(file: str, line: Callable[[], int]) -> Iterator[None]:
    """Operations that the DSL makes in the block carry this file's name, and the line that `line` returns then.

    `line` is called by a function of this module, which the DSL calls. What an operation is made of inherits its place.
    """
    import cutlass
    from cutlass._mlir.ir import Location  # type: ignore[attr-defined]  # its stub lacks it
    from cutlass._mlir_helpers import op

    package = str(Path(cutlass.__file__ or "").parent)
    made: dict[int, Location] = {}  # by their ids

    def place(given: Location | None) -> Location:
        if id(given) in made and sys._getframe(3).f_code.co_filename.startswith(package):
            return given
        new = Location.file(file, line(), 0)
        made[id(new)] = new
        return new

    def nowhere(*given: object, **named: object) -> None:
        """The DSL need not look for a place itself. A plain function: libraries make keys of what kernels name."""

    with mock.patch.object(op, "_get_caller_frame_info", nowhere), op.loc_transform(place):
        yield


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
