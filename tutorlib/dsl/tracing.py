"""While the CuTe DSL traces: calls that would end the process are refused with a sentence, the places in source code
that its operations carry are replaced, and the pieces of shared memory that kernels allocate are noted. Two
instructions that the DSL has no function for are here, too.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    aborts where a host function asks for what only threads on a GPU have. A Python loop
    over a tensor or over what load() gave takes one element after another and never finds the last.
    """
    from cutlass import cute
    from cutlass.cute import atom, core
    from cutlass.cute.atom import ThrCopy
    from cutlass.cute.tensor import TensorSSA, _Tensor

    guards: list[tuple[Any, str, Callable[..., str]]] = [  # where a function is, its name, what is wrong with its call
        (ThrCopy, "retile", too_few_modes),
        *((ThrCopy, name, partial(tiles_cut, name)) for name in ("partition_S", "partition_D")),
        (atom, "_make_tiled_copy", no_copy_atom),
        (cute, "make_tiled_mma", atoms_cut),
        (cute, "copy", not_retiled),
        *((module, name, partial(places_shared, name)) for name in PRODUCTS for module in (core, cute)),
        *((cute.arch, name, partial(no_threads, name)) for name in IN_KERNELS),
    ]
    with ExitStack() as stack:
        for owner, name, wrong in guards:
            stack.enter_context(mock.patch.object(owner, name, unless_wrong(getattr(owner, name), wrong)))
        for kind in (_Tensor, TensorSSA):
            stack.enter_context(mock.patch.object(kind, "__iter__", endless, create=True))
        yield


def unless_wrong(function: Callable[..., Any], wrong: Callable[..., str]) -> Callable[..., Any]:
    """A function that raises ValueError where `wrong` has a sentence about its arguments."""

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if says := wrong(*args, **options):
            raise ValueError(says)
        return function(*args, **options)

    return checked


def too_few_modes(copy: Any, registers: Any, **where: Any) -> str:
    from cutlass import cute

    if (rank := cute.rank(registers)) >= 3:
        return ""
    takes = "it takes (values, atoms, K blocks), all three of them"
    return f"retile of a tensor with {rank} modes, {registers.layout}: {takes}"


def tiles_cut(name: str, copy: Any, tensor: Any, **where: Any) -> str:
    """The tiles of a tiled copy do not fit the swizzled layout."""
    from cutlass import cute

    if not isinstance(tensor, cute.Tensor) or not isinstance(tensor.layout, cute.ComposedLayout):
        return ""
    tile = [cute.size(each) for each in copy.tiler_mn]
    sizes = [cute.size(mode) for mode in tensor.shape[: len(tile)]]  # type: ignore[index]
    cut = any(isinstance(n, int) and isinstance(t, int) and n % t for n, t in zip(sizes, tile, strict=False))
    return f"{name} of a swizzled tensor of {tuple(sizes)} by tiles of {tuple(tile)}: a rest is left" if cut else ""


def no_copy_atom(atom: Any, *layouts: Any, **where: Any) -> str:
    from cutlass import cute

    made = f"a tiled copy is made of a copy atom, which comes first, and this is a {type(atom).__name__}"
    return "" if isinstance(atom, cute.CopyAtom) else f"{made}: use cute.make_copy_atom(op, dtype)"


def atoms_cut(op: Any, layout: Any = None, permutation_mnk: Any = None, **options: Any) -> str:
    for name, size, atom in zip("MNK", permutation_mnk or (), getattr(op, "shape_mnk", ()), strict=False):
        if isinstance(size, int) and isinstance(atom, int) and size % atom:
            covers = f"along {name} it is what all warps cover together, a multiple of an atom's {atom}"
            return f"permutation_mnk={permutation_mnk}: {covers}"
    return ""


def not_retiled(atom: Any, src: Any, dst: Any, **options: Any) -> str:
    """ldmatrix fills registers whose first mode is the mma's."""
    from cutlass import cute
    from cutlass.cute.nvgpu import warp

    if not isinstance(getattr(atom, "op", None), warp.LdMatrix8x8x16bOp):
        return ""
    if cute.rank(src, mode=[0]) == cute.rank(dst, mode=[0]):
        return ""
    into = f"ldmatrix into {dst.layout}, whose first mode is not {src.shape[0]} as in its source"
    return f"{into}: retile gives the registers in the order in which ldmatrix fills them"


def places_shared(name: str, block: Any, *others: Any, **options: Any) -> str:
    """The first layout of a product sends two coordinates to one place.

    A mode steps by less than a mode with a smaller stride spans. Broadcast and dynamic modes are skipped.
    """
    from cutlass import cute

    if not isinstance(block, cute.Layout):
        return ""
    sizes, strides = (cute.flatten_to_tuple(each) for each in (block.shape, block.stride))
    static = ((d, n) for n, d in zip(sizes, strides, strict=True) if isinstance(n, int) and isinstance(d, int))
    modes = sorted((d, n) for d, n in static if d and n > 1)
    if all(step >= before * size for (before, size), (step, _) in pairwise(modes)):
        return ""
    own = "a number of its own: (a, b) threads, neighbors along the second mode, have the strides (b, 1)"
    return f"{name} of {block}, which sends several coordinates to one place. In a layout of threads each has {own}"


def no_threads(name: str, *args: Any, **options: Any) -> str:
    """A function of cute.arch is called outside of a kernel."""
    here = f"cute.arch.{name} is for kernels: this function has @cute.jit and runs on the CPU, where there are no "
    belongs = "threads of a GPU. Code for threads belongs under @cute.kernel"
    return "" if operation_around("gpu.module") else here + belongs


def endless(values: Any) -> Iterator[Any]:
    """In the place of an iterator over a tensor's elements."""
    what = f"{type(values).__name__.lstrip('_')} {values.shape}"
    says = f"Python cannot go through the elements of {what}: it does not know where they end"
    raise TypeError(f"{says}. Count them: for i in cutlass.range_constexpr(cute.size(x.shape)): … x[i] …")


def operation_around(kind: str) -> str:
    """The name of the operation of this kind, such as "cuda.kernel", inside of which code is traced, or ""."""
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


@contextmanager
def allocations(note: Callable[[str, int, int, Sequence[tuple[str, int, int]]], None]) -> Iterator[None]:
    """note(kernel's mangled name, start, size, fields) is called for each piece that a kernel allocates in the block.

    start: bytes from the beginning of its dynamic shared memory, where the DSL's compiler lays the pieces one after
    another, each aligned. fields: of a struct, (name, size, start) from the piece's own start.
    """
    from cutlass import cute
    from cutlass.memory import SmemAllocator

    allocate, ends = SmemAllocator._smem_alloca, dict[str, int]()

    def noting(self: Any, layout: Any, dtype: Any, byte_alignment: int, *given: Any, **more: Any) -> Any:
        made = allocate(self, layout, dtype, byte_alignment, *given, **more)
        kernel, align = operation_around("cuda.kernel"), max(byte_alignment, dtype.width // 8)
        start = -(-ends.get(kernel, 0) // align) * align
        size = cute.cosize(layout) * dtype.width // 8
        ends[kernel] = start + size
        note(kernel, start, size, more.get("struct_fields") or ())
        return made

    with mock.patch.object(SmemAllocator, "_smem_alloca", noting):
        yield


def fence_after() -> None:
    """tcgen05.fence::after_thread_sync: accesses to tensor memory below it follow a wait or barrier above it."""
    from cutlass._mlir.dialects import nvvm

    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.AFTER_THREAD_SYNC)


def fence_before() -> None:
    """tcgen05.fence::before_thread_sync: what is over above it comes before an arrival below it, a relaxed one too."""
    from cutlass._mlir.dialects import nvvm

    nvvm.tcgen05_fence(nvvm.Tcgen05FenceKind.BEFORE_THREAD_SYNC)
