"""What the process of an answer needs of page 12's exercises."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tutorlib.checking.exercise import Answer, Verdict, wrong
from tutorlib.checking.part import HostFunction, Inside, need_callable
from tutorlib.checking.randomness import fresh_rng
from tutorlib.compiling.errors import CompileFailed, first_cause
from tutorlib.exercises.judges.ampere import ampere
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.models import l2
from tutorlib.models.l2 import Order, Tile

# Answers that map a block's number to its tile.


IN_FLIGHT = 264  # blocks on 132 SMs, two on each
LARGE = (64, 64)  # tiles


class NotATile(Exception):
    """An order that does not return a tile. The message says what it returns."""


def in_a_kernel(order: Order, rows: int, columns: int) -> list[Tile]:
    """The tile of every block, where the block's number is known at run time only, as in a kernel: compiled and run.

    Raises CompileFailed, from NotATile where what it returns is none.
    """
    import torch
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from tutorlib.compiling.dsls import call_host

    def tile_of(block: Any) -> tuple[Any, Any]:
        tile = order(block, rows, columns)
        if isinstance(tile, cute.Tensor) or not hasattr(tile, "__len__") or len(tile) != 2:
            raise NotATile(f"it returns {type(tile).__name__}; a tile is two numbers, (m, n).")
        return tile[0], tile[1]

    @cute.jit
    def host(places: cute.Tensor) -> None:
        for block in range(rows * columns):
            m, n = tile_of(block)
            places[block, 0], places[block, 1] = m, n

    places = torch.full((rows * columns, 2), -1, dtype=torch.int32)
    call_host(host, from_dlpack(places))
    return [(m, n) for m, n in places.tolist()]


AT_RUN_TIME = (
    "In the kernel the block's number is known at run time only, and Python's if, min, divmod and int() need its value "
    "at compile time. Use arithmetic (//, %, *), cutlass.min, or @cute.jit over the function for an if."
)


class OrderFlaw(FailureKind):
    """Faults in an order of blocks."""

    EXCHANGED = "row and column exchanged"
    OUTSIDE = "a tile outside"
    TWICE = "a tile computed twice"
    NO_TILE = "no tile"
    TRAFFIC = "no less traffic"


@dataclass(frozen=True, kw_only=True)
class BlockOrder(Inside):
    """A function (block, rows, columns) → tile: tried on whole grids as a kernel would, then used in one.

    grids: rows and columns of tiles.
    """

    kernel: Callable[..., HostFunction] = ampere
    slots: tuple[str, ...] = ("order",)
    grids: tuple[Tile, ...]

    def look(self, answer: Answer, points: float) -> Verdict | None:
        need_callable(answer)
        try:
            for rows, columns in self.grids:
                if flaw := find_flaw(in_a_kernel(answer, rows, columns), rows, columns):
                    return wrong(f"of {rows}×{columns} tiles, " + flaw)
            wasteful = read_as_much(answer)
        except CompileFailed as failed:
            if refused := first_cause(failed, NotATile):
                return wrong(Flaw(str(refused), OrderFlaw.NO_TILE))
            unknown = Flaw("with a block that is known at run time only, CuTe refuses it.", Fail.DOES_NOT_COMPILE)
            return wrong(unknown, AT_RUN_TIME, str(failed))
        return wrong(Flaw(wasteful, OrderFlaw.TRAFFIC)) if wasteful else None


def read_as_much(order: Order) -> str:
    """A large grid whose waves together read no fewer tiles than in groups, as a sentence; "" if there is none.

    On LARGE no height of a group is better than 16. Raises CompileFailed.
    """
    for (rows, columns), group in ((LARGE, 16), (drawn(), 8)):
        tiles = in_a_kernel(order, rows, columns)
        read = sum(tiles_read(tiles[start : start + IN_FLIGHT]) for start in range(0, len(tiles), IN_FLIGHT))
        in_groups = sum(map(tiles_read, l2.waves((rows, columns), partial(l2.grouped, group=group), IN_FLIGHT)))
        if read >= in_groups:
            return (
                f"the waves of {IN_FLIGHT} blocks of {rows}×{columns} tiles read {read} rows and columns of tiles in "
                f"all; in groups of {group} rows they read {in_groups}."
            )
    return ""


def drawn() -> Tile:
    """A large grid with rows that 8 does not divide."""
    rng = fresh_rng()
    return 8 * rng.randint(7, 9) + rng.randint(1, 7), rng.randint(57, 79)


def tiles_read(tiles: list[Tile]) -> int:
    """The rows of A's tiles and the columns of B's that these tiles of C read."""
    return sum(len(set(of_a_mode)) for of_a_mode in zip(*tiles, strict=True))


def find_flaw(tiles: list[Tile], rows: int, columns: int) -> str:
    """The fault in an order, by the tile of each block, or ""."""
    inside = {(m, n) for m in range(rows) for n in range(columns)}
    if set(tiles) == inside:
        return ""
    if {(n, m) for m, n in tiles} == inside:
        what = "its answer is right with its two numbers exchanged: a tile is (m, n), the row of tiles first."
        return Flaw(what, OrderFlaw.EXCHANGED)
    missing = f"No block computes {min(inside - set(tiles))}."
    if outside := [(block, tile) for block, tile in enumerate(tiles) if tile not in inside]:
        block, tile = outside[0]
        return Flaw(f"block {block} computes {tile}, which is outside the grid. {missing}", OrderFlaw.OUTSIDE)
    twice = next(tile for tile in tiles if tiles.count(tile) > 1)
    first, second = [block for block, tile in enumerate(tiles) if tile == twice][:2]
    return Flaw(f"blocks {first} and {second} both compute {twice}. {missing}", OrderFlaw.TWICE)
