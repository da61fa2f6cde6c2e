"""The defining law of each operator of the layout algebra.

A law takes an operator's result and arguments, and returns None, or the violation, as the end of a
sentence ("it sends index 3 to 5 and should send it to 6"). It is tested at every index, so layouts should be small.
What a law needs of other operators, tensor_layouts gives.

The laws are CuTe's: the post-conditions and definitions in NVIDIA/cutlass, media/docs/cpp/cute/02_layout_algebra.md,
"the CuTe docs" below. In the formulas R is the operator's result, and B* the complement of B.
"""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from itertools import pairwise, product
from typing import Any

from tensor_layouts import Layout, compatible, complement, cosize, flatten, mode, rank, right_inverse, size

from tutorlib.failure import FailureKind, Flaw
from tutorlib.layouts.notation import text
from tutorlib.problems.wrong import count

Law = Callable[..., str | None]


class Lawbreak(FailureKind):
    """Which part of a law does not hold."""

    BRACKETS = "brackets are left"
    MODES_CONTINUE = "modes continue each other"
    NO_MATRIX = "no matrix"
    COPIES_MEET = "copies meet"
    NO_PAIR = "no pair"
    FIRST_MODE = "first mode is not the block"
    STARTS = "starts of copies"
    ELEMENT_OF_COPY = "element of a copy"
    NO_INVERSE = "no inverse"
    TOO_SHORT = "inverse too short"
    TWO_MODES = "not threads and values"
    ELEMENT_OF_TILE = "element of a tile"
    NOT_REFUSED = "not refused"


def of_layouts(holds: Law) -> Law:
    """The law, after a look at whether the answer is a layout at all."""

    @wraps(holds)
    def layout_holds(got: Any, *args: Any) -> str | None:
        return holds(got, *args) if isinstance(got, Layout) else "it should be a Layout"

    return layout_holds


class Offsets:
    """A layout on its own coordinates, worked out at once: to call it for each takes ten times as long."""

    def __init__(self, layout: Layout) -> None:
        self.extents = extents(layout)
        self.flat = [0]
        for extent, stride in modes_of(layout):
            self.flat = [start + n * stride for n in range(extent) for start in self.flat]

    def __call__(self, *coord: int) -> int:
        """At an index, or at an index into each of the first modes."""
        index, step = 0, 1
        for at, extent in zip(coord, self.extents, strict=False):
            index += at * step
            step *= extent
        return self.flat[index]


def differs(got: Layout, want: Callable[[int], int], n: int) -> str | None:
    """The first index in 0 … n-1 at which `got` differs from the function `want`."""
    if size(got) != n:
        return f"it has {count(size(got), 'element')} and should have {n}"
    for index, at in enumerate(Offsets(got).flat):
        if at != (should := want(index)):
            return f"it sends index {index} to {at} and should send it to {should}"
    return None


def extents(layout: Layout) -> tuple[int, ...]:
    """How many elements each mode has: (4, 8) of ((2,2),8):((1,16),2)."""
    return tuple(size(mode(layout, n)) for n in range(rank(layout)))


def modes_of(layout: Layout) -> list[tuple[int, int]]:
    """[(extent, stride), …] of the flat layout."""
    return list(zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True))


@of_layouts
def is_coalesced(got: Layout, layout: Layout) -> str | None:
    """R(i) == A(i) for every i, written flat and with as few modes as there can be.

    The post-conditions of coalesce in the CuTe docs, and the two cases in which it drops or merges a mode.
    """
    if broken := differs(got, Offsets(layout), size(layout)):
        return broken
    if size(got) == 1 and got != Layout(1, 0):
        return "where no mode is left it should be Layout(1, 0)"
    if rank(got) == 1 and isinstance(got.shape, tuple):
        return Flaw(f"a single mode is written without brackets, {text(mode(got, 0))}", Lawbreak.BRACKETS)
    if flatten(got) != got:
        return Flaw("its modes are still nested", Lawbreak.BRACKETS)
    modes = modes_of(got)
    if len(modes) > 1 and any(extent == 1 for extent, _ in modes):
        return "a mode of extent 1 is left"
    for (extent, stride), (after, step) in pairwise(modes):
        if step == extent * stride:
            both = f"{extent}:{stride} and {after}:{step}"
            return Flaw(f"its modes {both} continue each other and could be one", Lawbreak.MODES_CONTINUE)
    return None


def offset_at(layout: Layout, index: int) -> int:
    """The layout at an index that may be past its end: there its last mode continues, as in CuTe."""
    *modes, (_, last) = modes_of(layout)
    total = 0
    for extent, stride in modes:
        index, at = divmod(index, extent)
        total += at * stride
    return total + index * last


@of_layouts
def is_composition(got: Layout, a: Layout, b: Layout) -> str | None:
    """R(i) == A(B(i)) for every i, and every coordinate of B is one of R's.

    The post-conditions of composition in the CuTe docs; the second is compatible(B, R).
    """
    if size(got) != size(b):
        return f"it has {count(size(got), 'element')} and should have B's {size(b)}"
    for index, (at, through) in enumerate(zip(Offsets(got).flat, Offsets(b).flat, strict=True)):
        if at != (want := offset_at(a, through)):
            return f"R({index}) is {at}, but B({index}) = {through} and A({through}) = {want}"
    if not compatible(b.shape, got.shape):
        return f"it does not take the coordinates of B, whose shape is {text(b.shape)}"
    return None


@of_layouts
def turns_every_matrix(got: Layout, rows: int, columns: int) -> str | None:
    """B(column, row) is the index of (row, column), row + rows · column, for B of shape (columns, rows).

    Equivalent to (L ∘ B)(column, row) == L(row, column) for every L of shape (rows, columns); modes may be nested.
    """
    if extents(got) != (columns, rows):
        return Flaw(f"it should have {columns}×{rows} coordinates, (column, row)", Lawbreak.NO_MATRIX)
    theirs = Offsets(got)
    for row, column in product(range(rows), range(columns)):
        if (at := theirs(column, row)) != (index := row + rows * column):
            return f"it sends ({column}, {row}) to {at}; the element ({row}, {column}) has the index {index}"
    return None


@of_layouts
def is_complement(got: Layout, layout: Layout, bound: int) -> str | None:
    """Disjoint, ordered, filling: every offset below `bound` is one of A's plus one of R's, in one way.

    The post-conditions of complement in the CuTe docs, in a form that tests them at every offset: R ascends, no two
    copies of A meet, together they leave nothing free below the bound, and R is no larger than that takes.
    """
    enough = size(complement(layout, bound))
    if not 1 <= size(got) <= enough:
        return f"it has {size(got)} elements, and {enough} fill 0 … {bound - 1}"
    reached = set(Offsets(layout).flat)
    starts = Offsets(got).flat
    for offset, after in pairwise(starts):
        if after <= offset:
            return f"its offsets should ascend and not repeat, and {offset} is followed by {after}"
    sums = Counter(offset + start for offset in reached for start in starts)
    if twice := [offset for offset, n in sums.items() if n > 1]:
        return Flaw(f"two copies of the layout meet at offset {min(twice)}", Lawbreak.COPIES_MEET)
    if missing := set(range(bound)) - set(sums):
        return f"no copy of the layout reaches offset {min(missing)}"
    return None


@of_layouts
def is_division(got: Layout, layout: Layout, tile: Layout) -> str | None:
    """R(i, j) == A(B(i) + B*(j)), of shape (size(B), size(B*)): inside the tile B, which tile.

    A ⊘ B := A ∘ (B, B*) in the CuTe docs, where B* is the complement of B in the indices of A. Where the last tile
    sticks out, the law says nothing about the indices that A does not have.
    """
    starts = complement(tile, size(layout))
    if rank(got) != 2:
        return "it should have two modes, (inside the tile, which tile)"
    inside, outside = extents(got)
    if (inside, outside) != (size(tile), size(starts)):
        return f"its modes have {inside} and {outside} elements; a tile has {size(tile)}, and there are {size(starts)}"
    theirs, whole = Offsets(got), Offsets(layout)
    for (i, within), (j, start) in product(enumerate(Offsets(tile).flat), enumerate(Offsets(starts).flat)):
        index = within + start
        if index < len(whole.flat) and theirs(i, j) != whole(index):
            return (
                f"it sends ({i}, {j}), element {i} of tile {j}, to {theirs(i, j)}; that is index {index} of the "
                f"layout, at {whole(index)}"
            )
    return None


@of_layouts
def is_zipped(got: Layout, layout: Layout, tiler: tuple[int, ...]) -> str | None:
    """R(inside, outside) == A(inside + tiler · outside), of shape ((a, b, …), (A/a, B/b, …)), rounded up.

    zipped_divide in the CuTe docs, ((TileM, TileN), (RestM, RestN)), with a plain number for each tile; the shape as in
    (A,B,C)⊘(a,b,c) = ((a,b,c),(A/a,B/b,C/c)), Schreiber, Demystifying CuTe. Where the last tiles stick out, the law
    says nothing about the coordinates that A does not have.
    """
    sizes = extents(layout)
    counts = tuple(-(-extent // tile) for extent, tile in zip(sizes, tiler, strict=True))
    have, want = tuple(extents(mode(got, n)) for n in range(rank(got))), (tuple(tiler), counts)
    if [len(half) for half in have] != [len(tiler), len(tiler)]:
        return f"its shape should be {text(want)}"
    if have != want:
        return f"its shape is {text(have)} and should be {text(want)}"
    for inside, outside in product(product(*map(range, tiler)), product(*map(range, counts))):
        coord = tuple(i + tile * j for i, tile, j in zip(inside, tiler, outside, strict=True))
        within = all(c < extent for c, extent in zip(coord, sizes, strict=True))
        if within and got((inside, outside)) != layout(coord):
            return (
                f"element {inside} of tile {outside} is ({', '.join(map(str, coord))}) of the matrix, "
                f"at {layout(coord)}; yours sends it to {got((inside, outside))}"
            )
    return None


def is_block_tile(got: Any, layout: Layout, tile: tuple[int, int], block: tuple[int, int]) -> str | None:
    """start + R(i, j) == A(block · tile + (i, j)), for the pair (start, R), where R has the shape `tile`.

    What local_tile gives a thread block in the GEMM tutorial of the CuTe docs (0x_gemm_tutorial.md).
    """
    match got:
        case (int(start), Layout() as within):
            pass
        case _:
            wanted = "the offset where the tile begins, and the Layout of the tile"
            return Flaw(f"it should be a pair: {wanted}", Lawbreak.NO_PAIR)
    if extents(within) != tile:
        return f"the tile's shape should be {tile}"
    for i, j in product(*map(range, tile)):
        coord = (block[0] * tile[0] + i, block[1] * tile[1] + j)
        if start + within(i, j) != layout(*coord):
            return (
                f"element ({i}, {j}) of the tile is {coord} of the matrix, at {layout(*coord)}; yours says "
                f"{start} + {within(i, j)}"
            )
    return None


@of_layouts
def is_product(got: Layout, block: Layout, grid: Layout) -> str | None:
    """R(i, j) == A(i) + A*(B(j)), of shape (size(A), size(B)): inside the block A, which copy; packed and disjoint.

    A ⊗ B := (A, A* ∘ B) in the CuTe docs, where A* is the complement of A with room for cosize(B) copies.
    """
    if rank(got) != 2:
        return "it should have two modes, (inside the block, which copy)"
    if broken := differs(mode(got, 0), Offsets(block), size(block)):
        return Flaw(f"its first mode should be the block; {broken}", Lawbreak.FIRST_MODE)
    room = cosize(grid)
    places, cells = complement(block, size(block) * room), Offsets(grid)
    if broken := differs(mode(got, 1), lambda j: places(cells(j)), size(grid)):
        starts = [places(n) for n in range(room)]
        told = f"copies can begin at {starts}, and the grid picks from these; in mode 1, {broken}"
        return Flaw(told, Lawbreak.STARTS)
    return None


@of_layouts
def is_blocked(got: Layout, block: Layout, grid: Layout) -> str | None:
    """R((i, p), (j, q)) == (A ⊗ B)((i, j), (p, q)), for matrices A and B: rows with rows, columns with columns.

    blocked_product in the CuTe docs: the logical product with its modes zipped.
    """
    (rows, columns), (down, across) = extents(block), extents(grid)
    if rank(got) != 2 or extents(got) != (rows * down, columns * across):
        return Flaw(f"it should be a matrix of {rows * down}×{columns * across}", Lawbreak.NO_MATRIX)
    places = complement(block, size(block) * cosize(grid))
    theirs, inside, cells = Offsets(got), Offsets(block), Offsets(grid)
    for p, q in product(range(down), range(across)):
        start = places(cells(p, q))
        for i, j in product(range(rows), range(columns)):
            row, column = i + rows * p, j + columns * q
            if (at := theirs(row, column)) != (want := inside(i, j) + start):
                told = f"row {row}, column {column} is element ({i}, {j}) of copy ({p}, {q}), at {want}; yours has {at}"
                return Flaw(told, Lawbreak.ELEMENT_OF_COPY)
    return None


@of_layouts
def is_right_inverse(got: Layout, layout: Layout) -> str | None:
    """A(R(k)) == k for every k below size(R), and R is as long as it can be.

    The post-condition of right_inverse in the CuTe docs. It is as long as it can be where A has no offset size(R).
    """
    whole = Offsets(layout)
    for k in range(size(got)):  # of any size: it is not worked out at once
        if (index := got(k)) not in range(size(layout)):
            return f"it sends offset {k} to index {index}, and the layout has {size(layout)}"
        if whole(index) != k:
            told = f"it sends offset {k} to index {index}, where the layout has {whole(index)}"
            return Flaw(told, Lawbreak.NO_INVERSE)
    enough = size(right_inverse(layout))
    if size(got) < enough:
        return Flaw(f"it ends at offset {size(got)}, and the layout goes on without a gap", Lawbreak.TOO_SHORT)
    return None


@of_layouts
def is_thread_value(got: Layout, threads: Layout, values: Layout) -> str | None:
    """R(t, v) == row + rows · column of the element that is value v of thread t, of shape (threads, values).

    What make_layout_tv of the CuTe DSL is documented to give: the matrix `values` repeated over the matrix `threads`.
    """
    (down, across), (value_rows, value_columns) = extents(threads), extents(values)
    if rank(got) != 2 or extents(got) != (size(threads), size(values)):
        wanted = f"of {size(threads)} threads and of {size(values)} values"
        return Flaw(f"it should have two modes, {wanted}", Lawbreak.TWO_MODES)
    rows = down * value_rows
    theirs, thread_at, value_at = Offsets(got), Offsets(threads), Offsets(values)
    for p, q, i, j in product(range(down), range(across), range(value_rows), range(value_columns)):
        row, column = value_rows * p + i, value_columns * q + j
        thread, value = thread_at(p, q), value_at(i, j)
        if (at := theirs(thread, value)) != (want := row + rows * column):
            place = f"row {row}, column {column} of the tile, index {want}"
            told = f"value {value} of thread {thread} is {place}; yours says {at}"
            return Flaw(told, Lawbreak.ELEMENT_OF_TILE)
    return None
