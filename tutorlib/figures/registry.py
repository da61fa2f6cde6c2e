"""The pictures in figures/, for `tutor plots`. Performance figures are drawn from figures/data only."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from tensor_layouts import Layout, Swizzle, compose

from tutorlib.figures import (
    attention,
    copy_ladder,
    cutile_ladder,
    cutile_space,
    fusion,
    gemm_any,
    gemm_ladder,
    gemm_models,
    gemm_orders,
    gemm_stages,
    hopper_k,
    hopper_levers,
    hopper_timeline,
    launches,
    roofline,
)
from tutorlib.paths import FIGURES as FOLDER
from tutorlib.problems.wrong import count


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

FIGURES: dict[str, Callable[[], Figure]] = {
    "attention_ladder": attention.attention_ladder,
    "attention_levers": attention.attention_levers,
    "banks": banks,
    "copy_ladder": copy_ladder.copy_ladder,
    "fusion": fusion.fusion,
    "gemm_any": gemm_any.gemm_any,
    "gemm_ladder": gemm_ladder.gemm_ladder,
    **{f"gemm_ladder_{page}": partial(gemm_ladder.gemm_ladder, up_to=page) for page in ("09", "10", "11", "12", "13")},
    "gemm_models": gemm_models.gemm_models,
    "gemm_orders": gemm_orders.gemm_orders,
    "gemm_stages": gemm_stages.gemm_stages,
    "hopper_k": hopper_k.hopper_k,
    "hopper_levers": hopper_levers.hopper_levers,
    "hopper_timeline": hopper_timeline.hopper_timeline,
    "launches": launches.launches,
    "roofline": roofline.roofline,
    "tile_heatmap": cutile_space.tile_heatmap,
    "tile_ladder": cutile_ladder.tile_ladder,
}


def save(name: str, folder: Path = FOLDER) -> list[Path]:
    """Draw a figure and write it as SVG and PNG, with the same bytes for the same data. Raises NoData."""
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 11}):
        figure = FIGURES[name]()
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
