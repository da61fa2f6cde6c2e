"""The pictures in figures/, for `tutor plots`. Performance figures are drawn from figures/data only."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.figures import ladders, maps
from tutorlib.figures.style import rows
from tutorlib.paths import FIGURES as FOLDER
from tutorlib.problems.differences import count


def banks() -> Figure:
    """README's first picture: a warp reads a column of the tile of 05.6 and of 05.7, 64×64 numbers of fp32."""
    from tutorlib.draw.grid import figure
    from tutorlib.draw.simulated import WarpAccess, bank_grid_of

    rows = Layout((64, 64), (64, 1))
    tiles = {"05.6, stored by rows": rows, "05.7, swizzled": compose(Swizzle(5, 0, 6), rows)}
    grids = []
    for name, tile in tiles.items():
        read = WarpAccess(name, "ld.shared", 0, np.array([4 * tile(row, 0) for row in range(32)]), 4)
        title = f"{name}: {count(read.wavefronts, 'wavefront')}\nthe warp's threads, by bank"
        grids.append(replace(bank_grid_of(read), title=title))
    return figure(grids, stacked=False)


COLORS = 128  # of a PNG


@dataclass(frozen=True)
class Plot:
    """A figure. title: on the site. sweeps: whose results it shows; none: those of the solutions, or nothing's.

    draw: takes made-up results, or nothing for those that are stored. Raises NoData.
    """

    title: str
    sweeps: tuple[str, ...]
    draw: Callable[..., Figure]


def by_gpu(title: str, sweep: str, size: tuple[float, float], draw: Callable[..., None], **more: Any) -> Plot:
    """A row of panels for each GPU on which a sweep ran: see `rows`."""
    return Plot(title, (sweep,), partial(rows, sweep, size, draw, **more))


LADDER = Plot("The GEMM ladder", ("gemm_rungs", "gemm_nvidia", "gemm_any"), ladders.gemm_ladder)
ATTENTION = ("attention_full", "attention_causal")
FIGURES = {
    "attention_ladder": Plot("Attention over the length of its sequences", ATTENTION, ladders.attention_ladder),
    "banks": Plot("A warp reads a column of a tile in shared memory", (), banks),
    "gemm_any": by_gpu("The self-configuring GEMM at any shape", "gemm_any", (11, 5.2), maps.draw_shapes),
    "gemm_ladder": LADDER,
    **{
        f"gemm_ladder_{page}": replace(LADDER, draw=partial(ladders.gemm_ladder, up_to=page))
        for page in ("09", "10", "11", "12", "13")
    },
    "gemm_models": Plot(
        "The self-configuring GEMM on the weights of language models", ("gemm_models",), maps.gemm_models
    ),
    "gemm_orders": by_gpu(
        "Orders of blocks, their speed and the bytes that they read", "gemm_orders", (13, 4.6), maps.draw_orders,
        columns=2,
    ),
    "gemm_stages": by_gpu("Tiles and stages", "gemm_stages", (9.5, 4.8), maps.draw_stages),
    "roofline": by_gpu(
        "The GEMM ladder under the datasheet's roofs", "gemm_rungs", (12, 5.4), ladders.draw_roofline, in_table=True
    ),
    "tile_heatmap": by_gpu("The space of tiles and hints", "tile_space", (9.5, 6.2), maps.draw_space),
}  # fmt: skip


def save(name: str, folder: Path = FOLDER) -> list[Path]:
    """Draw a figure and write it as SVG and PNG, with the same bytes for the same data. Raises NoData."""
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 11}):
        figure = FIGURES[name].draw()
        paths = [folder / f"{name}.{kind}" for kind in ("svg", "png")]
        for path in paths:
            date = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, metadata=date, dpi=144)
    few_colors(paths[-1])
    return paths


def few_colors(png: Path) -> None:
    """Reduce a PNG to COLORS colors and a third of its bytes; several notebooks embed it."""
    with Image.open(png) as image:
        reduced = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    reduced.save(png, optimize=True)
