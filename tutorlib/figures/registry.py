"""The pictures in figures/, for `tutor plots`. Performance figures are drawn from figures/data only."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.figures import (
    attention,
    copy_ladder,
    cutile_ladder,
    cutile_space,
    first_exercise,
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def swizzle() -> "Figure":
    """README's second picture: 8×8 chunks of 16 bytes, colored by their banks, by rows and swizzled."""
    from tutorlib.draw import show_swizzle

    return show_swizzle((3, 0, 3), "(8,8):(8,1)", element_bytes=16)


COLORS = 128  # of a PNG

FIGURES: dict[str, Callable[[], "Figure"]] = {
    "attention_ladder": attention.attention_ladder,
    "attention_levers": attention.attention_levers,
    "copy_ladder": copy_ladder.copy_ladder,
    "first_exercise": first_exercise.first_exercise,
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
    "swizzle": swizzle,
    "tile_heatmap": cutile_space.tile_heatmap,
    "tile_ladder": cutile_ladder.tile_ladder,
}


def save(name: str, folder: Path = FOLDER) -> list[Path]:
    """Draw a figure and write it as SVG and PNG, with the same bytes for the same data. Raises NoData."""
    import matplotlib

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
    from PIL import Image

    with Image.open(png) as image:
        reduced = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    reduced.save(png, optimize=True)
