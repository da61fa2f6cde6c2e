"""Pictures of cuTile's three things: an array, the tile space over it, and the grid of blocks."""

from itertools import count

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import category, channels

Size = tuple[int, int]


def tiles_of(array: Size, tile: Size) -> Size:
    """The number of tiles along each mode that cover an array."""
    return -(-array[0] // tile[0]), -(-array[1] // tile[1])


def show_tile_space(array: Size, tile: Size) -> Picture:
    """An array with its tiles colored, hatched where they extend past its edge; beside it the tile space."""
    return figure([array_grid(array, tile), space_grid(array, tile)])


def array_grid(array: Size, tile: Size, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    rows, columns = (n * size for n, size in zip(tiles_of(array, tile), tile, strict=True))
    cells = [[(row, column) for column in range(columns)] for row in range(rows)]

    def exists(row: int, column: int) -> bool:
        return row < array[0] and column < array[1]

    return CellGrid(
        f"an array of {array[0]}×{array[1]} elements\nin tiles of {tile[0]}×{tile[1]}",
        [["" for _ in row] for row in cells],
        [[color(array, tile, cell) if exists(*cell) else None for cell in row] for row in cells],
        down=[str(row) if row % tile[0] == 0 else "" for row in range(rows)],
        across=[str(column) if column % tile[1] == 0 else "" for column in range(columns)],
        row_breaks={row: 2.0 for row in range(tile[0], rows, tile[0])},
        column_breaks={column: 2.0 for column in range(tile[1], columns, tile[1])},
        outlined=outlined,
    )


def space_grid(array: Size, tile: Size, outlined: frozenset[tuple[int, int]] = frozenset()) -> CellGrid:
    down, across = tiles_of(array, tile)
    return CellGrid(
        f"its tile space\n{down}×{across} tiles",
        [[f"{i},{j}" for j in range(across)] for i in range(down)],
        [[color(array, tile, (i * tile[0], j * tile[1])) for j in range(across)] for i in range(down)],
        down=[str(i) for i in range(down)],
        across=[str(j) for j in range(across)],
        outlined=outlined,
    )


def color(array: Size, tile: Size, element: tuple[int, int]) -> str:
    """The color of the tile that holds the element. Neighbors differ, also diagonal ones, and any sixteen in a row."""
    _, across = tiles_of(array, tile)
    i, j = element[0] // tile[0], element[1] // tile[1]
    row = next(n for n in count(across) if 2 <= n % 8 <= 6)  # from one row of tiles to the next, of eight hues
    number = i * row + j
    return category(number) if number // 8 % 2 == 0 else lighter(category(number))


def lighter(color: str) -> str:
    """Halfway to white, so that the ninth tile differs from the first."""
    return "#" + "".join(f"{(part + 255) // 2:02X}" for part in channels(color))
