"""While the CuTe DSL traces: calls that would end the process are refused with a sentence, the places in source code
that its operations carry are replaced, and the pieces of shared memory that kernels allocate are noted. Two
instructions that the DSL has no function for are here, too.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

PRODUCTS = ("logical_product", "zipped_product", "tiled_product", "flat_product", "raked_product", "blocked_product")
IN_KERNELS = ("thread_idx", "block_idx", "block_dim", "grid_dim", "lane_idx", "warp_idx", "sync_threads")


@contextmanager
def no_abort() -> Iterator[None]:
    """Meanwhile ValueError is raised where CuTe 4.8 would end the process, and TypeError where it would trace forever.

    It calls std::terminate where `retile` gets fewer than 3 modes, divides by zero where a product begins with a layout
    that sends two coordinates to one place, reads what is not there where a tiled copy is made of an mma, aborts where
    an mma's tile ends within an atom and ldmatrix is cut for it, or ldmatrix fills registers that are not retiled; LLVM
    aborts where a host function asks for what only
    threads on a GPU have. A Python loop over a tensor or over what load() gave takes one element after another and
    never finds the last.
    """
    from cutlass import cute
    from cutlass.cute import atom, core
    from cutlass.cute.atom import ThrCopy
    from cutlass.cute.tensor import TensorSSA, _Tensor

    guards: list[tuple[Any, str, Callable[..., None]]] = [  # where a function is, its name, what refuses its arguments
        (ThrCopy, "retile", too_few_modes),
        *((ThrCopy, name, partial(tiles_cut, name)) for name in ("partition_S", "partition_D")),
        (atom, "_make_tiled_copy", no_copy_atom),
        (cute, "make_tiled_mma", atoms_cut),
        (cute, "copy", not_retiled),
        *((module, name, partial(places_shared, name)) for name in PRODUCTS for module in (core, cute)),
        *((cute.arch, name, partial(no_threads, name)) for name in IN_KERNELS),
    ]
    with ExitStack() as stack:
        for owner, name, refuse in guards:
            stack.enter_context(mock.patch.object(owner, name, unless_refused(getattr(owner, name), refuse)))
        for kind in (_Tensor, TensorSSA):
            stack.enter_context(mock.patch.object(kind, "__iter__", endless, create=True))
        yield


def unless_refused(function: Callable[..., Any], refuse: Callable[..., None]) -> Callable[..., Any]:
    """A function whose arguments `refuse` sees first."""

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        refuse(*args, **options)
        return function(*args, **options)

    return checked


def too_few_modes(copy: Any, registers: Any, **where: Any) -> None:
    from cutlass import cute

    if (rank := cute.rank(registers)) < 3:
        raise ValueError(
            f"retile of a tensor with {rank} modes, {registers.layout}: it takes (values, atoms, K blocks), all "
            "three of them"
        )


def tiles_cut(name: str, copy: Any, tensor: Any, **where: Any) -> None:
    """The tiles of a tiled copy do not fit the swizzled layout."""
    from cutlass import cute

    if isinstance(tensor, cute.Tensor) and isinstance(tensor.layout, cute.ComposedLayout):
        tile = [cute.size(each) for each in copy.tiler_mn]
        sizes = [cute.size(mode) for mode in tensor.shape[: len(tile)]]  # type: ignore[index]
        if any(isinstance(n, int) and isinstance(t, int) and n % t for n, t in zip(sizes, tile, strict=False)):
            raise ValueError(f"{name} of a swizzled tensor of {tuple(sizes)} by tiles of {tuple(tile)}: a rest is left")


def no_copy_atom(atom: Any, *layouts: Any, **where: Any) -> None:
    from cutlass import cute

    if not isinstance(atom, cute.CopyAtom):
        raise TypeError(
            f"a tiled copy is made of a copy atom, which comes first, and this is a {type(atom).__name__}: "
            "cute.make_copy_atom(op, dtype) makes one"
        )


def atoms_cut(op: Any, layout: Any = None, permutation_mnk: Any = None, **options: Any) -> None:
    for name, size, atom in zip("MNK", permutation_mnk or (), getattr(op, "shape_mnk", ()), strict=False):
        if isinstance(size, int) and isinstance(atom, int) and size % atom:
            raise ValueError(
                f"permutation_mnk={permutation_mnk}: along {name} it is what all warps cover together, a multiple "
                f"of an atom's {atom}"
            )


def not_retiled(atom: Any, src: Any, dst: Any, **options: Any) -> None:
    """ldmatrix fills registers whose first mode is the mma's."""
    from cutlass import cute
    from cutlass.cute.nvgpu import warp

    if isinstance(getattr(atom, "op", None), warp.LdMatrix8x8x16bOp):
        brings, takes = (cute.rank(tensor, mode=[0]) for tensor in (src, dst))
        if brings != takes:
            raise ValueError(
                f"ldmatrix into {dst.layout}, whose first mode is not {src.shape[0]} as in its source: retile "
                "gives the registers in the order in which ldmatrix fills them"
            )


def places_shared(name: str, block: Any, *others: Any, **options: Any) -> None:
    """The first layout of a product sends two coordinates to one place."""
    if overlaps(block):
        raise ValueError(
            f"{name} of {block}, which sends several coordinates to one place. In a layout of threads each has "
            "a number of its own: (a, b) threads, neighbors along the second mode, have the strides (b, 1)"
        )


def no_threads(name: str, *args: Any, **options: Any) -> None:
    """A function of cute.arch is called outside of a kernel."""
    if not operation_around("gpu.module"):
        raise ValueError(
            f"cute.arch.{name} is for kernels: this function has @cute.jit and runs on the CPU, where there are no "
            "threads of a GPU. Code for threads belongs under @cute.kernel"
        )


def overlaps(layout: Any) -> bool:
    """Whether a mode steps by less than one with a smaller stride reaches. Broadcast and dynamic modes do not count."""
    from cutlass import cute

    if not isinstance(layout, cute.Layout):
        return False
    sizes, strides = (cute.flatten_to_tuple(each) for each in (layout.shape, layout.stride))
    static = ((d, n) for n, d in zip(sizes, strides, strict=True) if isinstance(n, int) and isinstance(d, int))
    modes = sorted((d, n) for d, n in static if d and n > 1)
    return any(step < before * size for (before, size), (step, _) in pairwise(modes))


def endless(values: Any) -> Iterator[Any]:
    """In the place of an iterator over a tensor's elements."""
    raise TypeError(
        f"Python cannot go through the elements of {type(values).__name__.lstrip('_')} {values.shape}: it does not "
        "know where they end. Count them: for i in cutlass.range_constexpr(cute.size(x.shape)): … x[i] …"
    )


def operation_around(kind: str) -> str:
    """The name of the operation of this kind, "cuda.kernel" for one, inside of which code is being traced, or ""."""
    from cutlass._mlir import ir

    operation = ir.InsertionPoint.current.block.owner.operation  # type: ignore[attr-defined]  # its stub lacks it
    while operation is not None and operation.name != kind:
        operation = operation.parent and operation.parent.operation
    return operation.attributes["sym_name"].value if operation else ""


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


def fence_before() -> None:
    """tcgen05.fence::before_thread_sync: accesses to tensor memory above it precede an arrival or barrier below it."""
    from cutlass._mlir.dialects import nvvm

    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)


def fence_after() -> None:
    """tcgen05.fence::after_thread_sync: accesses to tensor memory below it follow a wait or barrier above it."""
    from cutlass._mlir.dialects import nvvm

    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)
