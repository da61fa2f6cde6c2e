"""Pictures of the roles in a block over time, and of the K tiles that each cluster works on."""

from collections.abc import Mapping

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, MARK, category
from tutorlib.draw.timeline import bars_grid, over_time
from tutorlib.models.roles import ROWS, Cartoon, Roles
from tutorlib.models.work import Item, Split

EPILOGUE = CATEGORIES[2]  # a warpgroup that rounds and stores a tile's accumulators
TILES = (*CATEGORIES[:2], *CATEGORIES[3:])


def show_roles(*roles: Roles) -> Picture:
    """A block's loads, warpgroups, stores and tensor cores, time from left to right; several kernels below each other.

    A color is a tile; its number marks its first tick. Orange: a warpgroup in its epilogue. Hatched: the tensor cores
    are idle.
    """
    return over_time([Cartoon(one) for one in roles], roles_grid)


def roles_grid(cartoon: Cartoon, ticks: int) -> CellGrid:
    bars = []
    for span in cartoon.spans:
        color = EPILOGUE if span.rounds else TILES[span.tile % len(TILES)]
        bars.append((ROWS.index(span.row), str(span.tile), color, span.begin, span.end))
    title = f"{cartoon.roles}: {cartoon.total} ticks, the tensor cores busy for {cartoon.busy:.0%} of them"
    return bars_grid(title, ROWS, bars, cartoon.total, ticks, {1: 1.0, 3: 1.0, 4: 2.0})


def show_work(splits: Mapping[str, Split], clusters: int, tiles: int, k_tiles: int) -> Picture:
    """A row for each cluster, a column for the time of a K tile; number and color: the tile that the cluster works on.

    splits: title → the division of the work among clusters. Hatched: the cluster is idle until the others are done.
    Where tiles are cut, a cluster computes its share from the last tile to the first, and an arrow leads from the end
    of each part that is given to another cluster to the end of that one's own part.
    """
    shares = {
        title: in_time([split(cluster, clusters, tiles, k_tiles) for cluster in range(clusters)])
        for title, split in splits.items()
    }
    longest = max(duration(items) for lines in shares.values() for items in lines)
    grids = [work_grid(title, lines, longest) for title, lines in shares.items()]
    picture = figure(grids, stacked=longest > 12)
    for axes, lines in zip(picture.axes, shares.values(), strict=True):
        for giver, adder in hand_overs(lines):
            axes.annotate("", adder, giver, arrowprops={"arrowstyle": "->", "color": MARK, "linewidth": 1.8})
    return picture


def in_time(shares: list[list[Item]]) -> list[list[Item]]:
    """The shares in the order in which they are computed."""
    cut = sum(map(len, shares)) > len({tile for items in shares for tile, _, _ in items})
    return [items[::-1] for items in shares] if cut else shares


def hand_overs(shares: list[list[Item]]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """(x, y) of the end of each part that is given away, and of the end of the tile's last part, which adds it."""
    ends: dict[int, list[tuple[float, float]]] = {}
    for cluster, items in enumerate(shares):
        for number, (tile, _, _) in enumerate(items):
            ends.setdefault(tile, []).append((duration(items[: number + 1]), cluster + 0.5))
    return [(giver, adder) for *givers, adder in ends.values() for giver in givers]


def duration(items: list[Item]) -> int:
    """K tiles in total."""
    return sum(end - begin for _, begin, end in items)


def work_grid(title: str, shares: list[list[Item]], columns: int) -> CellGrid:
    """The clusters' items as rows of `columns` cells."""
    total = max(map(duration, shares))
    steps = [[tile for tile, begin, end in items for _ in range(begin, end)] for items in shares]
    waiting: list[list[str | None]] = [[None] * (total - len(mine)) + [EMPTY] * (columns - total) for mine in steps]
    return CellGrid(
        f"{title}: done after {total} K tiles;\n{len({tile for mine in steps for tile in mine})} tiles in "
        f"{sum(map(len, shares))} parts",
        [[*map(str, mine), *[""] * (columns - len(mine))] for mine in steps],
        [[*map(category, mine), *rest] for mine, rest in zip(steps, waiting, strict=True)],
        [str(cluster) for cluster in range(len(shares))],
        [str(time) if time % 4 == 0 else "" for time in range(columns)],
    )
