"""The page of all figures, each with its data."""

import re
from collections.abc import Iterator
from pathlib import Path

from tutorlib.figures.registry import FIGURES
from tutorlib.paths import DATA, SWEEPS
from tutorlib.paths import FIGURES as FOLDER

LADDER = re.compile(r"gemm_ladder_\d\d")  # the figure of the ladder as far as a page has come
INTRO = """# Figures and their data

`tutor plots` draws each figure from these files, which `tutor sweep` and `tutor evidence` write on a GPU. A speed is a
ratio to a library's kernel, measured in turn with it in one run."""


def figures_page(shown: dict[str, str]) -> str:
    """The page in Markdown. shown: figure → the page that shows it, as a link."""
    parts = [INTRO]
    for name in FIGURES:
        if name in shown and not LADDER.fullmatch(name):
            parts += figure_section(name, shown[name])
    parts += ["## Measurements of the solutions", *(f"- {download(path)}" for path in sorted(DATA.glob("*.json")))]
    return "\n\n".join(parts) + "\n"


def figure_anchor(name: str) -> str:
    """The fragment of a figure's section; the ladder has one section for all pages."""
    return LADDER.sub("gemm_ladder", name).replace("_", "-")


def figure_section(name: str, shown_on: str) -> Iterator[str]:
    """A section's blocks."""
    plot = FIGURES[name]
    yield f"({name})=\n## {plot.title}"
    yield f"Page {shown_on}."
    yield f"![{plot.title}]({FOLDER.name}/{name}.png)"
    drawn = [f"{{download}}`{kind.upper()} <{FOLDER.name}/{name}.{kind}>`" for kind in ("svg", "png")]
    yield " · ".join([*drawn, *(download(path) for path in data_of(plot.sweeps))])


def data_of(sweeps: tuple[str, ...]) -> list[Path]:
    """The files of these sweeps, one for each GPU; of none the solutions' results."""
    return [path for name in sweeps for path in sorted(SWEEPS.glob(f"*_{name}.json"))] or sorted(DATA.glob("*.json"))


def download(path: Path) -> str:
    """A link to a file of figures/data/."""
    return f"{{download}}`{path.name} <{path.relative_to(FOLDER).as_posix()}>`"
