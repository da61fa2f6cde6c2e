"""Figures of a sweep's space: any shape, tiles and stages, tiles and hints, orders of blocks."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, product
from statistics import median

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from tutorlib.draw.palette import CATEGORIES, EMPTY, FAINT, INK, MARK, RAMP, SHADES
from tutorlib.figures.style import tidy_axes
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.cutile import space
from tutorlib.machine.features import hardware_of
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.measuring.timing import Measurement
from tutorlib.models.memory import BY_ARCH, blocks_per_sm
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.differences import by

Square = tuple[str, str]  # names of its row and of its column


def draw_heatmap(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    speeds: Mapping[Square, float],
    notes: Mapping[Square, str],
    hatched: Collection[Square],
) -> None:
    """TFLOP/s and, below, a note in each square. A square that has no speed and is not hatched stays blank."""
    fastest = max(speeds, key=speeds.__getitem__)
    table = [[speeds.get((row, column), float("nan")) for column in columns] for row in rows]
    picture = axes.imshow(table, cmap=LinearSegmentedColormap.from_list("ramp", RAMP), aspect="auto")
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            square, corner = (row, column), (x - 0.5, y - 0.5)
            if square in hatched:
                axes.add_patch(Rectangle(corner, 1, 1, hatch="////", facecolor="white", edgecolor=FAINT, linewidth=0))
            if square in speeds:
                words = "\n".join(filter(None, (f"{speeds[square]:.0f}", notes.get(square))))
                axes.text(x, y, words, ha="center", va="center", color=INK, fontsize=9 if notes else None)
            if square == fastest:
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=3, zorder=3))
    axes.figure.colorbar(picture, ax=axes, label="TFLOP/s")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)


def draw_stages(axes: Axes, swept: SweepResults) -> None:
    """TFLOP/s in each cell, below it warps × blocks on an SM. Hatched: not measured, too large for shared memory."""
    cells = {(by(point.facts["tile"]), str(point.facts["stages"])): point for point in swept.points}
    speeds = {cell: point.measurement.tflops or 0 for cell, point in cells.items()}
    notes = {cell: note for cell, point in cells.items() if (note := residents(point, swept.machine["arch"]))}
    tiles = list(dict.fromkeys(tile for tile, _ in speeds))
    stages = [str(n) for n in sorted({point.facts["stages"] for point in swept.points})]
    draw_heatmap(axes, tiles, stages, speeds, notes, set(product(tiles, stages)) - set(speeds))
    small = "; second line: warps × blocks on an SM" if notes else ""
    axes.set_xlabel(f"stages{small}; hatched: {'too large for shared memory' if swept.complete else 'not measured'}")
    axes.set_title(f"{swept.gpu}, {by(swept.shapes[0])} bf16, {swept.regime}", loc="left", color=INK)
    axes.set_ylabel("tile, M×N×K")


def residents(point: Point, arch: str) -> str:
    """Warps of a block × blocks on an SM, "4 × 2"; "" if unknown."""
    if "registers" not in point.facts or arch not in BY_ARCH:
        return ""
    config = GemmConfig(point.facts["tile"], point.facts["warps"], point.facts["stages"])
    blocks = blocks_per_sm(BY_ARCH[arch], config.smem_bytes, point.facts["registers"], config.threads)
    return f"{config.threads // 32} × {blocks}"


Tile = tuple[int, int, int]  # tm, tn, tk


def draw_space(axes: Axes, swept: SweepResults) -> None:
    """The best TFLOP/s of each tile and its hints; hatched: fits with no hints, blank: not measured."""
    best: dict[Tile, Point] = {}
    for point in swept.points:
        tile = point.facts["config"]["tm"], point.facts["config"]["tn"], point.facts["config"]["tk"]
        if tile not in best or point.measurement.median_us < best[tile].measurement.median_us:
            best[tile] = point
    tiles, depths = sorted({tile[:2] for tile in best}), sorted({tile[2] for tile in best})
    fit = {(config.tm, config.tn, config.tk) for config in space()}
    unfit = {square((m, n, k)) for (m, n), k in product(tiles, depths) if (m, n, k) not in fit}
    draw_heatmap(
        axes,
        [by(tile) for tile in tiles],
        [str(k) for k in depths],
        {square(tile): point.measurement.tflops or 0 for tile, point in best.items()},
        {square(tile): hints(point.facts["config"]) for tile, point in best.items()},
        unfit,
    )
    axes.set_xlabel("tk, elements; hatched: fits with no hints" if unfit else "tk, elements")
    axes.set_ylabel("tm×tn, elements")
    axes.set_title(
        f"{swept.gpu}, {by(swept.shapes[0])} bf16, {swept.regime}: the best of each tile", loc="left", color=INK
    )


def square(tile: Tile) -> Square:
    """The row and column of a tile in the map."""
    return by(tile[:2]), str(tile[2])


def hints(config: dict) -> str:
    """The hints of a configuration, for its square."""
    return f"{config['num_worker_warps']} warps" + (f", {config['num_ctas']} CTAs" if config["num_ctas"] > 1 else "")


# Any shape ------------------------------------------------------------------------------------------------------------


def draw_shapes(axes: Axes, swept: SweepResults) -> None:
    """A mark for each shape; the key has the medians, a line that of all random shapes, a label the slowest shape."""
    problem, kinds = gemm("bf16"), kinds_of(swept)

    def intensity(measured: Measurement) -> float:
        return problem.flops(measured.shape) / problem.bytes(measured.shape)

    axes.axhline(1, color=INK, linestyle="--", linewidth=2)
    if hardware := hardware_of(swept.gpu):
        ridge = hardware.flops["bf16"] / hardware.bandwidth
        axes.axvline(ridge, color=FAINT, linestyle=":", linewidth=1.5)
        axes.annotate(
            "memory limits | tensor cores limit", (ridge, 1), (0, -4), ha="center", va="top", color=INK, fontsize=9,
            xycoords=("data", "axes fraction"), textcoords="offset points", backgroundcolor="white",
        )  # fmt: skip
    for (kind, measured), color, marker in zip(kinds.items(), (SHADES[3], SHADES[0]), "oD", strict=True):
        axes.scatter(
            [intensity(each) for each in measured], [each.ratio for each in measured],
            color=color, marker=marker, s=55, label=f"{kind}: {told(measured)}", zorder=3,
        )  # fmt: skip
    drawn = [*chain.from_iterable(kinds.values())]
    middle = median(each.ratio for each in drawn)
    axes.axhline(middle, color=SHADES[1], linewidth=1.5, label=f"all: {told(drawn)}")
    least = min(drawn, key=lambda each: each.ratio)
    axes.scatter([intensity(least)], [least.ratio], s=170, facecolors="none", edgecolors=MARK, linewidths=2, zorder=4)
    axes.annotate(
        f"{least.ratio:.3f} at {by(least.shape)}", (intensity(least), least.ratio), (8, -8), va="top",
        textcoords="offset points", color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, zorder=5,
    )  # fmt: skip
    axes.margins(y=0.1)  # room for that below the point
    axes.set_xscale("log", base=2)
    axes.set_xlabel("arithmetic intensity, FLOP per byte of A, B and C")
    axes.set_ylabel(f"speed as a fraction of {swept.baseline}'s")
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set_title(f"{swept.gpu}, bf16, {swept.regime}: gemm(a, b, c) at any shape", loc="left", color=INK)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    tidy_axes(axes)


def told(measured: Sequence[Measurement]) -> str:
    """The number of shapes, their median ratio, and how many are slower than the baseline."""
    if not measured:
        return "0"
    middle = median(each.ratio for each in measured)
    return f"{len(measured)}, median {middle:.3f}, {sum(each.ratio < 1 for each in measured)} below 1"


def kinds_of(swept: SweepResults) -> dict[str, list[Measurement]]:
    """The measurements of gemm_any by the seed that drew their shapes."""
    measured = {point.measurement.shape: point.measurement for point in swept.points}
    return {
        f"seed {seed}": [measured[shape] for shape in map(tuple, shapes) if shape in measured]
        for seed, shapes in swept.facts["random"].items()
    }


MANY = 512  # tokens
LEVEL = LinearSegmentedColormap.from_list("level", (CATEGORIES[2], EMPTY, CATEGORIES[0]))  # slower, as fast, faster


def draw_models(axes: Axes, swept: SweepResults) -> None:
    """Speed as a fraction of the baseline's: a row for each weight of the models, a column for each count of tokens."""
    models, found = swept.facts["models"], {each.shape: each for each in measured_of(swept)}
    weights = [(f"{name}, {n}×{k}", n, k) for model in models.values() for name, (n, k) in model.items()]
    tokens = sorted({shape[0] for shape in found})
    cells = [[found.get((count, n, k)) for count in tokens] for _, n, k in weights]
    ratios = [[each.ratio if each else 1.0 for each in row] for row in cells]
    axes.imshow(ratios, LEVEL, aspect="auto", vmin=0.75, vmax=1.25)
    for (y, row), x in product(enumerate(cells), range(len(tokens))):
        if each := row[x]:
            words = f"{'≈' if each.noisy else ''}{each.ratio:.2f}"
            axes.text(x, y, words, ha="center", va="center", color=INK, fontsize=9)
    first = -0.5
    for model, of in models.items():
        axes.text(len(tokens) - 0.4, first + 0.1, model, va="top", color=INK, fontsize=10)
        first += len(of)
        axes.axhline(first, color=INK, linewidth=1.5)
    axes.set_xticks(range(len(tokens)), map(str, tokens))
    axes.set_yticks(range(len(weights)), [name for name, *_ in weights])
    axes.set_xlabel("tokens, the rows of A")
    where = f"{swept.gpu}, bf16, {swept.regime}: speed as a fraction of {swept.baseline}'s (≈: noisy)"
    axes.set_title(f"{where}\n{few_and_many(measured_of(swept))}", loc="left", color=INK, fontsize=11)


def measured_of(swept: SweepResults) -> list[Measurement]:
    """From the fewest tokens on."""
    return sorted((point.measurement for point in swept.points), key=lambda each: each.shape)


def few_and_many(measured: Sequence[Measurement]) -> str:
    """The median ratios of few tokens and of many, and of how far their quartiles are from them."""
    told = []
    for name, of in (("below", [each for each in measured if each.shape[0] < MANY]),
                     ("from", [each for each in measured if each.shape[0] >= MANY])):  # fmt: skip
        if of:
            middle, spread = median(each.ratio for each in of), median(each.spread / 2 for each in of)
            told.append(f"{name} {MANY} tokens: median {middle:.3f}, pairs ±{spread:.1%}")
    return "; ".join(told)
