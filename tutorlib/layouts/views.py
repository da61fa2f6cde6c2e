"""Layouts' operations as views that pictures and explorers show: composition, division, swizzles, tiled copies."""

from dataclasses import dataclass
from typing import Any

from tensor_layouts import (
    ComposedLayout,
    Layout,
    Swizzle,
    complement,
    compose,
    cosize,
    crd2flat,
    idx2crd,
    mode,
    raked_product,
    rank,
    right_inverse,
    size,
)

from tutorlib.layouts.matrix import Cell, Matrix, matrix, modes
from tutorlib.layouts.notation import NotationError, Tiler, layout, text, tiler
from tutorlib.models.memory import WARP, bank, wavefronts

# Composition ----------------------------------------------------------------------------------------------------------


class NoLayout(ValueError):
    """The result would be no layout. The message is one line for the reader."""


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
        index, rows = self.picked[cell[0]][cell[1]], size(modes(self.a.shape)[0])
        return (index % rows, index // rows) if 0 <= index < size(self.a) else None

    def takers(self, source: Cell) -> set[Cell]:
        """The cells of the result that come from a cell of a."""
        cells = ((row, column) for row, indices in enumerate(self.picked) for column in range(len(indices)))
        return {cell for cell in cells if self.source(cell) == source}


def compose_view(a: Any, b: Any) -> ComposeView:
    """Raises NotationError, TooLarge, NoLayout, and tensor_layouts' LayoutError if that refuses to compose them.

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


# Division -------------------------------------------------------------------------------------------------------------


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
        """Every (inside, which tile) of a cell of the layout's matrix: one if tiles are disjoint."""
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


# Swizzles -------------------------------------------------------------------------------------------------------------


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


# Tiled copies ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TiledCopyView:
    """A tile copied by `threads`, a matrix of thread numbers, each of which takes a matrix of `values` at a time.

    One step of all threads covers `step` elements; steps are repeated down the tile, then across, as CuTe's
    partition_S lists them: a thread's value v + V·n is its value v of step n.
    """

    threads: Layout
    values: Layout
    tile: tuple[int, int]

    @property
    def step(self) -> tuple[int, int]:
        """Rows and columns that one step covers."""
        (thread_rows, thread_columns), (value_rows, value_columns) = self.threads.shape, self.values.shape
        return thread_rows * value_rows, thread_columns * value_columns

    @property
    def layout(self) -> Layout:
        """(thread, value) → flat index in the step, its first mode fastest: what CuTe's make_layout_tv returns."""
        inverse = right_inverse(raked_product(self.threads, self.values))
        return compose(inverse, Layout((size(self.threads), size(self.values))))

    def holder(self, cell: Cell) -> tuple[int, int]:
        """The thread and the value that an element belongs to. Values are contiguous, threads around them."""
        (row, column), (rows, columns) = cell, self.step
        value_rows, value_columns = self.values.shape
        within = row % rows, column % columns
        thread = self.threads(within[0] // value_rows, within[1] // value_columns)
        value = self.values(within[0] % value_rows, within[1] % value_columns)
        n = row // rows + column // columns * (self.tile[0] // rows)
        return thread, value + n * size(self.values)

    def cells(self, thread: int) -> frozenset[Cell]:
        """Every element that a thread holds."""
        return frozenset(cell for cell in self.places if self.holder(cell)[0] == thread)

    @property
    def places(self) -> list[Cell]:
        """The tile's elements, row by row."""
        return [(row, column) for row in range(self.tile[0]) for column in range(self.tile[1])]


def tiled_copy_view(threads: Layout, values: Layout, tile: tuple[int, ...]) -> TiledCopyView:
    """The view, or a NotationError that says why no TiledCopy is like that."""
    for name, part in {"threads": threads, "values": values}.items():
        if not (isinstance(part.shape, tuple) and len(part.shape) == 2 and all(isinstance(n, int) for n in part.shape)):
            raise NotationError(f"The {name} {text(part)} are no matrix; write them like (2,4):(4,1).")
        if cosize(part) != size(part) or len({part(n) for n in range(size(part))}) != size(part):
            raise NotationError(f"The {name} {text(part)} do not number {size(part)} cells from 0 on, each once.")
    if len(tile) != 2 or not all(isinstance(n, int) and n > 0 for n in tile):
        raise NotationError(f"The tile {text(tile)} is no matrix; write it like (8,16).")
    view = TiledCopyView(threads, values, tile)
    if any(extent % step for extent, step in zip(tile, view.step, strict=True)):
        raise NotationError(f"One step covers {text(view.step)} elements, and {text(tile)} is not made of such pieces.")
    return view
