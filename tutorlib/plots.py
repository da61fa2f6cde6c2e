"""The pictures in figures/: `tutor plots`. Performance is drawn from figures/data/GPU.json and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib import sweep_plots, tile_plots
from tutorlib.course import ROOT
from tutorlib.device import hardware_of
from tutorlib.evidence import Data, NoData, all_data
from tutorlib.exercises import find
from tutorlib.palette import CATEGORIES, INK, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = ROOT / "figures"


def copy_ladder(everything: list[Data] | None = None) -> "Figure":
    """Bandwidth of each rung of notebook 05, beside torch's copy in the same run and the datasheet; a row for each GPU.

    Raises NoData.
    """
    from matplotlib.figure import Figure

    measured = [
        (data, rungs) for data in (all_data() if everything is None else everything) if (rungs := rungs_of(data, "05"))
    ]
    if not measured:
        raise NoData("no copy kernel was measured yet: run `tutor evidence 05` on a machine with a GPU")
    figure = Figure(figsize=(9.5, 0.9 + 0.42 * sum(len(rungs) + 2 for _, rungs in measured)), layout="constrained")
    panels = figure.subplots(len(measured), squeeze=False)[:, 0]
    for axes, (data, rungs) in zip(panels, measured, strict=True):
        draw_ladder(axes, data["machine"]["gpu"], rungs)
    panels[-1].set_xlabel("TB/s, read and written")
    return figure


def rungs_of(data: Data, notebook: str) -> list[tuple[str, dict]]:
    """Title and measurement of each timed exercise of a notebook, in order."""
    return [
        (find(id).title, result["measurements"][0])
        for id, result in data["exercises"].items()
        if id[:2] == notebook and result["measurements"]
    ]


def draw_ladder(axes: "Axes", gpu: str, rungs: list[tuple[str, dict]]) -> None:
    """One bar for each rung, a stroke where torch's copy was in the same run, a line for the datasheet."""
    names = [title for title, _ in rungs]
    speeds = [m["gbps"] / 1000 for _, m in rungs]
    beside = [m["gbps"] / 1000 * m["median_us"] / m["baseline_us"] for _, m in rungs]
    axes.barh(names, speeds, color=CATEGORIES[0])
    for row, speed in enumerate(speeds):
        axes.text(0.05, row, f"{speed:.2f}", va="center", color=INK)
    axes.scatter(
        beside, names, marker="|", s=420, color=INK, linewidths=2, label="torch copy_ in the same run", zorder=3
    )
    if hardware := hardware_of(gpu):
        axes.axvline(hardware.bandwidth / 1e12, color=MARK, linestyle="--", label="datasheet")
    axes.invert_yaxis()
    axes.set_title(gpu, loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def swizzle() -> "Figure":
    """The README's picture: 8×8 chunks of 16 bytes, coloured by the banks they lie in, plain and swizzled."""
    from tutorlib.draw import show_swizzle

    return show_swizzle((3, 0, 3), "(8,8):(8,1)", element_bytes=16)


FIGURES: dict[str, Callable[[], "Figure"]] = {
    "copy_ladder": copy_ladder,
    "gemm_ladder": sweep_plots.gemm_ladder,
    "gemm_orders": sweep_plots.gemm_orders,
    "gemm_stages": sweep_plots.gemm_stages,
    "roofline": sweep_plots.roofline,
    "swizzle": swizzle,
    "tile_heatmap": tile_plots.tile_heatmap,
    "tile_ladder": tile_plots.tile_ladder,
}


def save(name: str, folder: Path = FOLDER) -> list[Path]:
    """Draw a figure of FIGURES and write it as SVG and PNG, the same bytes for the same data. Raises NoData."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 11}):
        figure = FIGURES[name]()
        paths = [folder / f"{name}.{kind}" for kind in ("svg", "png")]
        for path in paths:
            date = {"Date": None} if path.suffix == ".svg" else {"Software": None}
            figure.savefig(path, metadata=date, dpi=144)
    return paths
