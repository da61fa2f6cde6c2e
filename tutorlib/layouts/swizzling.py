"""A layout behind a swizzle: its banks, and what an access of a warp costs."""

from dataclasses import dataclass
from typing import Any

from tensor_layouts import (
    ComposedLayout,
    Layout,
    Swizzle,
    compose,
)

from tutorlib.layouts.matrix import Cell, Matrix, matrix
from tutorlib.layouts.notation import NotationError, layout, text
from tutorlib.models.banks import WARP, bank, wavefronts


@dataclass(frozen=True)
class Access:
    """The elements that a warp reads at once: `vector` along the row from each thread's cell."""

    cells: tuple[Cell, ...]
    vector: int


@dataclass(frozen=True)
class SwizzleView:
    """A layout behind a swizzle. `banks` and `offsets` are the swizzled ones; a cost is in wavefronts.

    A cost is None where the elements that a thread reads at once do not lie together.
    """

    swizzle: Swizzle
    layout: Layout
    swizzled: ComposedLayout | Layout
    element_bytes: int
    plain: Matrix
    offsets: Matrix
    banks: Matrix
    access: Access
    plain_cost: int | None
    cost: int | None


ACCESSES = {
    "a row, one element a thread": (False, False, WARP),
    "a column, one element a thread": (True, False, WARP),
    "rows, 16 bytes a thread": (False, True, WARP),
    "a column, 16 bytes a thread": (True, True, WARP),
    "ldmatrix: eight rows of 16 bytes": (True, True, 8),
}  # name: (down the column?, 16-byte vectors?, threads)


def access_of(name: str, rows: int, columns: int, element_bytes: int, start: Cell = (0, 0)) -> Access:
    """The cells that a named access reads from a matrix, as many threads as the matrix has work for.

    start: where the first thread reads; a row begins at its left end and a column at the top, of the vector there.
    """
    down, vectors, threads = ACCESSES[name]
    vector = 16 // element_bytes if vectors else 1
    across = columns // vector
    column = start[1] // vector
    if down:
        top = start[0] // threads * threads if threads < WARP else 0
        cells = [(row, column * vector) for row in range(top, min(top + threads, rows)) if column < across]
    else:
        first = start[0] * across
        cells = [(n // across, n % across * vector) for n in range(first, min(first + threads, rows * across))]
    return Access(tuple(cells), vector)


def swizzle_view(
    swizzle: Any, source: Any, element_bytes: int = 2, access: str = "ldmatrix: eight rows of 16 bytes",
    start: Cell = (0, 0),
) -> SwizzleView:  # fmt: skip
    """swizzle: a Swizzle or (B, M, S). access: a name of ACCESSES. Raises NotationError, TooLarge."""
    mixing = swizzle if isinstance(swizzle, Swizzle) else Swizzle(*swizzle)
    if abs(mixing.shift) < mixing.bits:
        raise NotationError(f"{text(mixing)} would mix bits with themselves: S is at least B.")
    before = layout(source)
    after = compose(mixing, before)
    plain, offsets = matrix(before), matrix(after)
    reads = access_of(access, len(plain), len(plain[0]), element_bytes, start)
    return SwizzleView(
        mixing,
        before,
        after,
        element_bytes,
        plain,
        offsets,
        tuple(tuple(bank(offset, element_bytes) for offset in row) for row in offsets),
        reads,
        access_cost(plain, reads, element_bytes),
        access_cost(offsets, reads, element_bytes),
    )


def access_cost(offsets: Matrix, access: Access, element_bytes: int) -> int | None:
    """Wavefronts, or None where a thread's elements are not consecutive and aligned in memory."""
    read = [offsets[row][column : column + access.vector] for row, column in access.cells]
    whole = all(
        each[0] % access.vector == 0 and list(each) == list(range(each[0], each[0] + access.vector)) for each in read
    )
    return wavefronts([each[0] for each in read], element_bytes, access.vector) if whole else None
