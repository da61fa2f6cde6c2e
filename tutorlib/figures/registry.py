"""The pictures in figures/, for `tutor plots`. Performance figures are drawn from figures/data only."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from PIL import Image

from tutorlib.figures import ladders, maps
from tutorlib.figures.style import rows
from tutorlib.paths import FIGURES as FOLDER

COLORS = 128  # of a PNG


def by_gpu(sweep: str, size: tuple[float, float], draw: Callable[..., None], **more: Any) -> Callable[..., Figure]:
    """A row of panels for each GPU on which a sweep ran: see `rows`."""
    return partial(rows, sweep, size, draw, **more)


# Each takes made-up results, or nothing for those that are stored, and raises NoData.
FIGURES: dict[str, Callable[..., Figure]] = {
    "attention_ladder": ladders.attention_ladder,
    "gemm_any": by_gpu("gemm_any", (11, 5.2), maps.draw_shapes),
    "gemm_ladder": ladders.gemm_ladder,
    "gemm_ladder_16": partial(ladders.gemm_ladder, rungs=("14 plain", "15 zigzag, polling", ladders.CHOSEN)),
    "gemm_models": by_gpu("gemm_models", (11, 5.2), maps.draw_models),
    "gemm_stages": by_gpu("gemm_stages", (9.5, 4.8), maps.draw_stages),
    "ladder": ladders.ladder_in_brief,
    "tile_heatmap": by_gpu("tile_space", (9.5, 6.2), maps.draw_space),
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
