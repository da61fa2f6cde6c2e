"""What pictures and explorers of layouts show, as plain numbers."""

from dataclasses import dataclass
from math import prod
from typing import Any

from tensor_layouts import (
    ComposedLayout,
    Layout,
    Swizzle,
    complement,
    compose,
    crd2flat,
    flatten,
    idx2crd,
    mode,
    rank,
    size,
)

from tutorlib.banks import WARP, bank, wavefronts
from tutorlib.notation import NotationError, Tiler, Tree, layout, text, tiler

LARGEST = 128 * 128  # cells; beyond that nobody sees anything

Cell = tuple[int, int]  # row, column
Matrix = tuple[tuple[int, ...], ...]


class TooLarge(ValueError):
    """More cells than a picture can show. The message is one line for the reader."""


class NoLayout(ValueError):
    """What is asked for is not a layout. The message is one line for the reader."""


def extent(shape: Tree) -> int:
    """How many coordinates a shape has."""
    return prod(flatten((shape,)))


def modes(shape: Tree) -> tuple[Tree, Tree]:
    """A shape as (rows, columns): the first mode down, all others across; rank 1 is one row."""
    if not isinstance(shape, tuple):
        return 1, shape
    if len(shape) == 1:
        return 1, shape[0]
    return shape[0], shape[1] if len(shape) == 2 else shape[1:]


def coordinate(shape: Tree, cell: Cell) -> Tree:
    """The natural coordinate of a cell of the matrix that `modes` makes of the shape."""
    return idx2crd(cell[0] + cell[1] * extent(modes(shape)[0]), shape)


def matrix(source: Any) -> Matrix:
    """The offsets of a layout as rows of a matrix. Raises TooLarge, NotationError."""
    shown = layout(source)
    rows, columns = map(extent, modes(shown.shape))
    if rows * columns > LARGEST:
        raise TooLarge(f"{text(shown)} has {rows * columns:,} elements; a picture holds {LARGEST:,}.")
    return tuple(tuple(shown(row + column * rows) for column in range(columns)) for row in range(rows))


@dataclass(frozen=True)
class Place:
    """One element: natural coordinate, flat index, offset, and how the offset comes about ("2·3 + 1·1 = 7")."""

    coordinate: Tree
    index: int
    offset: int
    sum: str


@dataclass(frozen=True)
class LayoutView:
    """A layout and its matrix of offsets."""

    layout: Layout
    offsets: Matrix

    def at(self, cell: Cell) -> Place:
        """What lies in a cell of the matrix."""
        where = coordinate(self.layout.shape, cell)
        terms = zip(flatten((where,)), flatten((self.layout.stride,)), strict=True)
        offset = self.offsets[cell[0]][cell[1]]
        added = " + ".join(f"{index}·{step}" for index, step in terms)
        return Place(where, cell[0] + cell[1] * len(self.offsets), offset, f"{added} = {offset}")


def layout_view(source: Any) -> LayoutView:
    """Raises NotationError, TooLarge."""
    shown = layout(source)
    return LayoutView(shown, matrix(shown))


@dataclass(frozen=True)
class ComposeView:
    """a∘b. `picked` holds b's values, which are flat indices of a; `offsets` a∘b's, in the matrix of b.

    Where b is a single mode, `composed` is too: CuTe's composition may make several modes of it. An offset is None
    where b leaves a's indices: there a has no value, and libraries differ in how they go on.
    """

    a: Layout
    b: Layout
    composed: Layout
    picked: Matrix
    offsets: tuple[tuple[int | None, ...], ...]

    def source(self, cell: Cell) -> Cell | None:
        """The cell of a from which a cell of the result comes; None where b leaves a's indices."""
        index, rows = self.picked[cell[0]][cell[1]], extent(modes(self.a.shape)[0])
        return (index % rows, index // rows) if 0 <= index < size(self.a) else None

    def takers(self, source: Cell) -> set[Cell]:
        """The cells of the result that come from a cell of a."""
        cells = ((row, column) for row, indices in enumerate(self.picked) for column in range(len(indices)))
        return {cell for cell in cells if self.source(cell) == source}


def compose_view(a: Any, b: Any) -> ComposeView:
    """Raises NotationError, TooLarge, NoLayout, and tensor_layouts' LayoutError for what it refuses to compose.

    CuTe composes mode by mode of b. Where b's modes overlap, the sum may carry from one mode of a into the next, and
    no layout is a∘b; CuTe returns one all the same, so the law (a∘b)(i) = a(b(i)) is tested here.
    """
    outer, inner = layout(a), layout(b)
    composed = compose(outer, inner)
    if not isinstance(inner.shape, tuple) and isinstance(composed.shape, tuple):
        composed = Layout((composed.shape,), (composed.stride,))
    inside = range(size(outer))
    picked = matrix(inner)
    offsets = tuple(
        tuple(offset if index in inside else None for index, offset in zip(*rows, strict=True))
        for rows in zip(picked, matrix(composed), strict=True)
    )
    for index, offset in zip(sum(picked, ()), sum(offsets, ()), strict=True):
        if offset is not None and offset != outer(index):
            wrong = f"{text(composed)} has {offset} where a({index}) = {outer(index)}"
            raise NoLayout(f"No layout is a∘b, as b's modes overlap: {wrong}.")
    return ComposeView(outer, inner, composed, picked, offsets)


@dataclass(frozen=True)
class DivideView:
    """The zipped divide: `offsets` has inside the tile down and which tile across.

    sources: the cell of the layout's own matrix that each cell comes from. Both are None where a tile reaches past the
    edge.
    """

    layout: Layout
    tiler: Tiler
    divided: Layout
    offsets: tuple[tuple[int | None, ...], ...]
    sources: tuple[tuple[Cell | None, ...], ...]

    def places(self, cell: Cell) -> tuple[Cell, ...]:
        """Every (inside, which tile) at which a cell of the layout's matrix stands: one where tiles are disjoint."""
        return tuple(
            (inside, which)
            for inside, row in enumerate(self.sources)
            for which, source in enumerate(row)
            if source == cell
        )


def divide_view(source: Any, cut: Any) -> DivideView:
    """By the definition, mode by mode: L ⊘ T = L ∘ (T, T*), where T* is the complement of T in the mode's size.

    Raises NotationError, TooLarge, and tensor_layouts' LayoutError where the division is none.
    """
    whole, knife = layout(source), tiler(cut)
    rows = len(matrix(whole))
    parts, tiles = divided_modes(whole, knife)
    others = [complement(tile, size(part)) for tile, part in zip(tiles, parts, strict=False)]
    inside = [compose(part, tile) for part, tile in zip(parts, tiles, strict=False)]
    outside = [compose(part, other) for part, other in zip(parts, others, strict=False)]
    divided = Layout(bundle(inside), bundle(outside + parts[len(tiles) :]))
    uncut = [Layout(size(part)) for part in parts[len(tiles) :]]

    def origin(i: int, j: int) -> Cell | None:
        within = idx2crd(i, tuple(map(size, tiles)))
        which = idx2crd(j, tuple(map(size, others + uncut)))
        index = [tile(n) for tile, n in zip(tiles, within, strict=True)] + [0] * len(uncut)
        index = [start + other(n) for start, other, n in zip(index, others + uncut, which, strict=True)]
        if any(n >= size(part) for n, part in zip(index, parts, strict=True)):
            return None
        flat = crd2flat(tuple(index), tuple(map(size, parts)))
        return flat % rows, flat // rows

    sources = tuple(tuple(origin(i, j) for j in range(size(mode(divided, 1)))) for i in range(size(mode(divided, 0))))
    offsets = tuple(
        tuple(offset if cell else None for offset, cell in zip(*both, strict=True))
        for both in zip(matrix(divided), sources, strict=True)
    )
    return DivideView(whole, knife, divided, offsets, sources)


def divided_modes(whole: Layout, knife: Tiler) -> tuple[list[Layout], list[Layout]]:
    """(the modes that a tiler sees, its tile for each of the first of them); a layout sees a single mode."""
    if isinstance(knife, Layout):
        return [whole], [knife]
    parts = [mode(whole, n) for n in range(rank(whole))]
    if len(knife) > len(parts):
        raise NotationError(f"The tiler {text(knife)} has more modes than the shape {text(whole.shape)}.")
    if any(isinstance(part, tuple) for part in knife):
        raise NotationError(f"The tiler {text(knife)} is nested; give each mode one number or one layout.")
    return parts, [layout(part) for part in knife]


def bundle(parts: list[Layout]) -> Layout:
    """The layouts as modes of one; a single one stays as it is."""
    return parts[0] if len(parts) == 1 else Layout(*parts)


@dataclass(frozen=True)
class Access:
    """What the threads of a warp read at once: one cell each, and `vector` elements from there along the row."""

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
