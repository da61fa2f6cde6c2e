"""A picture of a GEMM's loop over K: the tiles of A and B that one tile of C needs in each step."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tutorlib.draw.grid import DPI, WIDTH, Picture
from tutorlib.draw.palette import EMPTY, FAINT, INK, MARK
from tutorlib.draw.timeline import color_of

STEP = 0.62  # a step along K beside a tile of C, whose side is 1
GAP = 0.45  # between the matrices
OUTSIDE: dict[str, Any] = {"facecolor": EMPTY, "edgecolor": "#C3CAD1", "hatch": "//////", "linewidth": 0.4}


def show_k_loop(
    rows: int = 3, columns: int = 5, steps: int = 6, tile: tuple[int, int] = (1, 3), parts: int = 0
) -> Picture:
    """A left of C and Bᵀ above it, so that tile (m, n) of C is where row m of A and column n of Bᵀ meet.

    A color is a step along K: the two tiles of a color are loaded together and multiplied. Half of the last step lies
    past K and is hatched.
    parts: the number of blocks that share the tile, with equal runs of steps; a color is then a block. 0: one block.
    """
    m, n = tile
    depth = steps * STEP
    width, height = depth + GAP + columns, depth + GAP + rows
    scale = min(62, (WIDTH - 120) / width)
    margin = 46
    picture = Picture(
        figsize=((width * scale + 2 * margin) / DPI, (height * scale + 2 * margin) / DPI), dpi=DPI, facecolor="white"
    )
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-margin / scale, width + margin / scale)
    axes.set_ylim(height + margin / scale, -margin / scale)
    left, top = depth + GAP, depth + GAP  # of C
    cut_matrix(axes, 0, top, [STEP] * (steps - 1) + [STEP / 2], [1] * rows)
    cut_matrix(axes, left, 0, [1] * columns, [STEP] * (steps - 1) + [STEP / 2])
    cut_matrix(axes, left, top, [1] * columns, [1] * rows)
    run = -(-steps // parts) if parts else 1
    for k in range(steps):
        inside = STEP / 2 if k == steps - 1 else STEP
        for x, y, wide, high in ((k * STEP, top + m, inside, 1), (left + n, k * STEP, 1, inside)):
            axes.add_patch(Rectangle((x, y), wide, high, facecolor=color_of(k // run), edgecolor="white"))
            axes.text(x + wide / 2, y + high / 2, str(k), ha="center", va="center", size=9, color=INK)
    over = (steps - 0.5) * STEP
    axes.add_patch(Rectangle((over, top + m), STEP / 2, 1, **OUTSIDE))
    axes.add_patch(Rectangle((left + n, over), 1, STEP / 2, **OUTSIDE))
    axes.add_patch(Rectangle((left + n, top + m), 1, 1, fill=False, edgecolor=MARK, linewidth=2.6, zorder=5))
    axes.text(left + n + 0.5, top + m + 0.5, f"C({m}, {n})", ha="center", va="center", size=9, color=INK)
    note: dict[str, Any] = {"size": 10, "color": INK}
    axes.text(0, top - 0.12, "A  (M, K)", va="bottom", **note)
    axes.text(left, -0.12, "Bᵀ  (K, N)", va="bottom", **note)
    axes.text(left, top - 0.12, "C  (M, N)", va="bottom", **note)
    axes.text(depth / 2, top + rows + 0.12, "K →", ha="center", va="top", size=9, color=FAINT)
    axes.text(left + columns + 0.1, depth / 2, "K ↓", ha="left", va="center", size=9, color=FAINT)
    return picture


def cut_matrix(axes: Axes, left: float, top: float, widths: list[float], heights: list[float]) -> None:
    """A matrix cut into tiles of these widths and heights."""
    thin: dict[str, Any] = {"fill": False, "edgecolor": "#C3CAD1", "linewidth": 0.8}
    y = top
    for high in heights:
        x = left
        for wide in widths:
            axes.add_patch(Rectangle((x, y), wide, high, **thin))
            x += wide
        y += high
    axes.add_patch(Rectangle((left, top), sum(widths), sum(heights), fill=False, edgecolor=INK, linewidth=1.4))
