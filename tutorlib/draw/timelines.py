"""Pictures of what happens over time: pipelines, roles, tiles of a persistent kernel, attention."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import mul
from typing import Any

from tutorlib.draw.grid import CellGrid, Picture, figure
from tutorlib.draw.palette import CATEGORIES, EMPTY, MARK, category, mixed
from tutorlib.models.hopper_gemm import Item, Split
from tutorlib.models.timelines import (
    BOTH,
    Blocks,
    Chart,
    Roles,
    Schedule,
    Span,
    Timeline,
    attention_chart,
    launches_chart,
    roles_chart,
    sm_chart,
)

ISSUED, ARRIVING = "#F1F3F5", "#CED4DA"  # a copy is in flight: before its first byte arrives, and after
TILES = (*CATEGORIES[:-1], "#CDB4DB", "#F6CFA8", "#B5E2C8", "#D6CDA4")  # gray marks copies in flight
PALE = 0.62  # share of white in the color of a tile that has arrived and waits


TickSpan = tuple[str, int, int, str, str | None]  # row, begin, end, label of each tick, color (None: hatched)


def tick_grid(
    title: str, rows: Sequence[str], ticks: int, spans: Iterable[TickSpan], breaks: Mapping[int, float], idle: int = 0
) -> CellGrid:
    """A column for each of the first `ticks`. Up to tick `idle` the last row is hatched where it has no span."""
    labels = {row: [""] * ticks for row in rows}
    colors: dict[str, list[str | None]] = {row: [EMPTY] * ticks for row in rows}
    colors[rows[-1]][:idle] = [None] * idle
    for row, begin, end, label, color in spans:
        for tick in range(begin, min(end, ticks)):
            labels[row][tick], colors[row][tick] = label, color
    across = [str(tick) if tick % 5 == 0 else "" for tick in range(ticks)]
    return CellGrid(title, list(labels.values()), list(colors.values()), rows, across, breaks)


def show_timeline(*timelines: Timeline) -> Picture:
    """One row for each buffer and one for the arithmetic, time from left to right; several below each other.

    A number is a tile: on gray it is arriving (· its copy is issued, and no byte has arrived), on a pale color it has
    arrived and waits, on the full color the arithmetic uses it. Hatched: the arithmetic waits.
    """
    example = color_of(1)  # the pale tint of tile 0's is nearly ARRIVING
    shades = {
        "· issued": ISSUED,
        "arriving": ARRIVING,
        "arrived, waiting": mixed(example, EMPTY, PALE),
        "in use": example,
        "the arithmetic waits": None,
    }
    return over_time(timelines, timeline_grid, shades)


def over_time(
    charts: Sequence[Any], grid: Callable[[Any, int], CellGrid], legend: Mapping[str, str | None] | None = None
) -> Picture:
    """Charts below each other on one scale of ticks, the longest one's `total`."""
    longest = max(chart.total for chart in charts)
    return figure([grid(chart, longest) for chart in charts], stacked=True, legend=legend)


def timeline_grid(timeline: Timeline, ticks: int | None = None) -> CellGrid:
    """The first `ticks` of the pipeline as columns of a grid; by default all."""
    spans: list[TickSpan] = []
    blocks = [f"block {n}, " for n in range(timeline.blocks)] if timeline.blocks > 1 else [""]
    for tile, step in enumerate(timeline.steps):
        turn, block = divmod(tile, timeline.blocks)
        buffer, color = f"{blocks[block]}buf {turn % timeline.stages}", color_of(tile)
        spans += [
            (buffer, step.issued, step.flows, "·", ISSUED),
            (buffer, step.flows, step.arrived, str(tile), ARRIVING),
            (buffer, step.arrived, step.started, str(tile), mixed(color, EMPTY, PALE)),
            (buffer, step.started, step.done, str(tile), color),
            ("math", step.started, step.done, str(tile), color),
        ]
    barrier = "" if timeline.at_once else ", one barrier a tile"
    barrier += ", one load at a time" if timeline.one_by_one else ""
    title = f"{timeline.blocks} blocks, each with " * (timeline.blocks > 1) + (
        f"{timeline.stages} stage{'s' * (timeline.stages > 1)}{barrier}: {timeline.total} ticks for {timeline.tiles} "
        f"tiles; once it runs, one every {timeline.period:.3g}, computing {timeline.busy:.0%} of the time"
    )
    rows = [*(f"{block}buf {n}" for block in blocks for n in range(timeline.stages)), "math"]
    ticks = ticks or timeline.total
    return tick_grid(title, rows, ticks, spans, {len(rows) - 1: 2.0}, idle=min(timeline.total, ticks))


def show_fetches(tiles: int = 3, k_blocks: int = 4) -> Picture:
    """A warp's K blocks, "tile.block", over time: each fetched and then multiplied, and each fetched one block ahead.

    A thick line is the barrier after the wait for a tile. Gray: the tile's copies are in flight. Hatched: the tensor
    cores wait.
    """
    grids = []
    for title, step in {"fetch, then multiply": 2, "fetch the next block, then multiply": 1}.items():
        blocks = {step * at: divmod(at, k_blocks) for at in range(tiles * k_blocks)}  # when fetched
        barriers = [tick for tick, (_, block) in blocks.items() if block == 0]
        spans: list[TickSpan] = [
            (row, tick + later, tick + later + 1, f"{tile}.{block}", color_of(tile))
            for tick, (tile, block) in blocks.items()
            for later, row in enumerate(("ldmatrix", "mma"))
        ]
        for tile, (begin, end) in enumerate(pairwise(barriers), 1):
            spans.append(("cp.async", begin + (step == 1), end, str(tile), ARRIVING))
        total = max(blocks) + 2
        grid = tick_grid(f"{title}: {total} ticks", ("cp.async", "ldmatrix", "mma"), 2 * len(blocks), spans, {}, total)
        grids.append(replace(grid, column_breaks=dict.fromkeys(barriers, 3.0)))
    return figure(grids, stacked=True)


def color_of(tile: int) -> str:
    """They repeat after eleven tiles."""
    return TILES[tile % len(TILES)]


def chart_grid(
    title: str, chart: Chart, ticks: int, breaks: Mapping[int, float], color: Callable[[Span], str]
) -> CellGrid:
    """A span is labeled at its first tick. The last row, of the tensor cores, is hatched where it has none."""
    spans: list[TickSpan] = []
    for span in chart.spans:
        spans.append((span.row, span.begin, span.end, "", color(span)))
        spans.append((span.row, span.begin, span.begin + 1, span.label, color(span)))
    return tick_grid(title, chart.rows, ticks, spans, breaks, idle=chart.total if chart.cores else 0)


def show_launches(ways: Mapping[str, tuple[int, int]]) -> Picture:
    """A host that launches a few kernels, and its GPU. Hatched: the GPU is idle.

    ways: title → ticks of the host for a launch, and of the GPU for the kernel.
    """
    return over_time([launches_chart(title, *ticks) for title, ticks in ways.items()], idle_grid)


# Roles ----------------------------------------------------------------------------------------------------------------

EPILOGUE = CATEGORIES[2]  # a warpgroup that rounds and stores a tile's accumulators
ROLE_TILES = (*CATEGORIES[:2], *CATEGORIES[3:])


def show_roles(*roles: Roles) -> Picture:
    """A block's loads, warpgroups, stores and tensor cores, time from left to right; several kernels below each other.

    A color is a tile; its number marks its first tick. Orange: a warpgroup in its epilogue. Hatched: the tensor cores
    are idle.
    """
    return over_time(list(map(roles_chart, roles)), roles_grid)


def roles_grid(chart: Chart, ticks: int) -> CellGrid:
    def color(span: Span) -> str:
        return EPILOGUE if span.does else ROLE_TILES[span.tile % len(ROLE_TILES)]

    busy = f"the tensor cores busy for {chart.multiplying / chart.total:.0%} of them"
    return chart_grid(f"{chart.title}: {chart.total} ticks, {busy}", chart, ticks, {1: 1.0, 3: 1.0, 4: 2.0}, color)


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
            bow = f"arc3,rad={-0.5 if giver[0] == adder[0] else 0}"  # outside, where several would coincide
            arrow = {"arrowstyle": "->", "color": MARK, "linewidth": 1.8, "connectionstyle": bow}
            axes.annotate("", adder, giver, arrowprops=arrow)
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


# Attention ------------------------------------------------------------------------------------------------------------


WARPGROUPS = {"warpgroup 0": category(0), "warpgroup 1": category(1), "both, alternating": category(BOTH)}


def show_attention(*schedules: Schedule) -> Picture:
    """Time from left to right; several schedules below each other.

    A color is a warpgroup; the label at a span's first tick has the block of keys. Hatched: the tensor cores are idle.
    """
    return over_time(list(map(attention_chart, schedules)), idle_grid, WARPGROUPS)


def show_tiles(*blocks: Blocks, loads: str = "Q", stores: str = "O") -> Picture:
    """Time from left to right on one SM; a color is a tile, of queries or of C. Hatched: the tensor cores are idle.

    loads: the label of a tile's loads, until the first data are there. stores: of a warpgroup's epilogue.
    """
    return over_time([sm_chart(each, loads=loads, stores=stores) for each in blocks], idle_grid)


def idle_grid(chart: Chart, ticks: int) -> CellGrid:
    """The title counts the ticks without a span in the last row."""
    grid = chart_grid("", chart, ticks, {len(chart.rows) - 1: 2.0}, lambda span: category(span.tile))
    idle, cores = grid.colors[-1].count(None), "tensor cores" if chart.cores == "mma" else chart.cores
    return replace(grid, title=f"{chart.title}: {chart.total} ticks, the {cores} idle in {idle} of them")


def show_attention_loop(tiles: Sequence[Sequence[int]], values: Sequence[Sequence[int]]) -> Picture:
    """A column for each step of a block's loop: Q stays, a color is a tile of keys; between them a query's softmax.

    tiles: the query's scores in each, as exponents of two. values: of a column of V. Outlined: what came before is
    rescaled.
    """
    largest, total, acc, steps = float("-inf"), 0.0, 0.0, []
    for n, (scores, column) in enumerate(zip(tiles, values, strict=True)):
        new = max(largest, *scores)
        factor, weights = 2.0 ** (largest - new), [2.0 ** (score - new) for score in scores]
        largest, total = new, total * factor + sum(weights)
        acc = acc * factor + sum(map(mul, weights, column))
        state = ",".join(map(str, scores)), str(new), f"{factor:.3g}", *(f"{x:.2f}" for x in (total, acc, acc / total))
        steps.append(("Q", f"K {n}", *state, ",".join(map(str, column)), f"V {n}"))
    colors = [[ARRIVING, color_of(n), *[EMPTY] * 7, color_of(n)] for n in range(len(steps))]
    labels, shades = (list(zip(*table, strict=True)) for table in (steps, colors))
    rescaled = frozenset((4, n) for n, step in enumerate(steps) if 0 < float(step[4]) < 1)
    names = "a query's scores", "maximum so far", "factor", "total so far", "accumulator", "average so far"
    rows = ("Q, loaded once", "tile of K", *names, "a column of V", "tile of V")
    return figure([CellGrid("", labels, shades, rows, row_breaks={1: 2.0, 2: 2.0, 9: 2.0}, outlined=rescaled)])


def show_key_tiles(queries: int, keys: int, tm: int, tn: int) -> Picture:
    """The tiles (tm, tn) of a head's scores: blocks of queries down, tiles of keys across. Query i sees keys 0 … i."""
    return figure([key_grid(queries, keys, tm, tn)])


def key_grid(queries: int, keys: int, tm: int, tn: int) -> CellGrid:
    rows, columns = -(-queries // tm), -(-keys // tn)

    def kind(m: int, n: int) -> str:
        if n * tn >= min((m + 1) * tm, keys):
            return ""
        return "whole" if (n + 1) * tn <= min(m * tm + 1, keys) else "mask"

    kinds = [[kind(m, n) for n in range(columns)] for m in range(rows)]
    colors = {"whole": category(0), "mask": category(1), "": EMPTY}
    return CellGrid(
        f"{queries} queries in tiles of {tm}, {keys} keys in tiles of {tn}",
        kinds,
        [[colors[kind] for kind in row] for row in kinds],
        down=[str(m) for m in range(rows)],
        across=[str(n) for n in range(columns)],
    )
