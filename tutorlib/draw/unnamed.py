"""Pictures of layouts without their names, for an exercise."""

from matplotlib.figure import Figure

from tutorlib.draw.grid import CellGrid, figure
from tutorlib.draw.palette import ramp
from tutorlib.layouts.unnamed import PICTURES


def show_pictures() -> Figure:
    """Offsets alone, without names or lines that would reveal the modes."""
    grids = []
    for name, offsets in PICTURES.items():
        last = max(map(max, offsets))
        colors = [[ramp(offset, 0, last) for offset in row] for row in offsets]
        grids.append(CellGrid(name, [[str(offset) for offset in row] for row in offsets], colors))
    return figure(grids)
