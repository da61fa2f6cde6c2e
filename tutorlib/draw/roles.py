"""Pictures of who works when in a block, and of which cluster works on which tile's K."""

from collections.abc import Mapping

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import EMPTY, category
from tutorlib.models.roles import ROWS, Cartoon, Roles
from tutorlib.models.work import Split

RESULTS = "#F1F3F5"  # neither loads nor multiplies: rounds a tile's sums


def show_roles(*roles: Roles) -> Picture:
    """A block's loads, warpgroups, stores and tensor cores, time from left to right; several kernels below each other.

    A colour is a tile, its number stands where it begins. Grey: a warpgroup rounds and hands over results. Hatched:
    the tensor cores have nothing to do.
    """
    cartoons = [Cartoon(one) for one in roles]
    longest = max(cartoon.total for cartoon in cartoons)
    return figure([roles_grid(cartoon, longest) for cartoon in cartoons], stacked=True)


def roles_grid(cartoon: Cartoon, ticks: int) -> CellGrid:
    labels = [[""] * ticks for _ in ROWS]
    colours: list[list[str | None]] = [[EMPTY] * ticks for _ in ROWS]
    colours[-1] = [None if tick < cartoon.total else EMPTY for tick in range(ticks)]
    for span in cartoon.spans:
        row = ROWS.index(span.row)
        labels[row][span.begin] = str(span.tile)
        colours[row][span.begin : span.end] = [RESULTS if span.rounds else category(span.tile)] * (
            span.end - span.begin
        )
    title = f"{cartoon.roles}: {cartoon.total} ticks, the tensor cores busy for {cartoon.busy:.0%} of them"
    across = [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]
    return CellGrid(title, labels, colours, ROWS, across, {1: 1.0, 3: 1.0, 4: 2.0})


def show_work(splits: Mapping[str, Split], clusters: int, tiles: int, k_tiles: int) -> Picture:
    """A row for each cluster, a column for each K tile's time, the tile that it works on in each: number and colour.

    splits: title → how the work is split among the clusters. Hatched: the cluster is done and waits for the others.
    """
    lines = {
        title: [[item for item in split(cluster, clusters, tiles, k_tiles)] for cluster in range(clusters)]
        for title, split in splits.items()
    }
    lengths = {title: [sum(end - begin for _, begin, end in mine) for mine in all_] for title, all_ in lines.items()}
    longest = max(max(found) for found in lengths.values())
    grids = []
    for title, shares in lines.items():
        steps = [[(tile, k) for tile, begin, end in mine for k in range(begin, end)] for mine in shares]
        total = max(lengths[title])
        parts = sum(map(len, shares))
        grids.append(
            CellGrid(
                f"{title}: done after {total} K tiles; {parts} parts of {tiles} tiles",
                [[str(tile) for tile, _ in mine] + [""] * (longest - len(mine)) for mine in steps],
                [
                    [category(tile) for tile, _ in mine] + [None] * (total - len(mine)) + [EMPTY] * (longest - total)
                    for mine in steps
                ],
                [str(cluster) for cluster in range(clusters)],
                [str(time) if time % 4 == 0 else "" for time in range(longest)],
            )
        )
    return figure(grids, stacked=longest > 12)
