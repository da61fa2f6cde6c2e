"""The page of all figures, each with its data."""

import ast
import inspect
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
    """A section's blocks. Title and caption are the first line of the module that draws the figure."""
    module = inspect.getmodule(FIGURES[name])
    assert module is not None
    says = (module.__doc__ or "").split("\n")[0].removeprefix("The figure of ").rstrip(".")
    title, _, caption = says.partition(": ")
    if re.fullmatch(r"notebook \d\d", title):
        title, caption = caption, ""
    yield f"({name})=\n## {title[0].upper()}{title[1:]}"
    yield f"Page {shown_on}." + (f" {caption[0].upper()}{caption[1:]}." if caption else "")
    yield f"![{says}]({FOLDER.name}/{name}.png)"
    drawn = [f"{{download}}`{kind.upper()} <{FOLDER.name}/{name}.{kind}>`" for kind in ("svg", "png")]
    yield " · ".join([*drawn, *(download(path) for path in data_of(name, inspect.getsource(module)))])


def data_of(name: str, code: str) -> list[Path]:
    """The sweeps that the code of a figure's module names; the solutions' results if it names none."""
    words = {str(node.value) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)} | {name}
    results = sorted(DATA.glob("*.json"))  # one file for each GPU
    named = {f"{path.stem}_{word}" for path in results for word in words}
    return [path for path in sorted(SWEEPS.glob("*.json")) if path.stem in named] or results


def download(path: Path) -> str:
    """A link to a file of figures/data/."""
    return f"{{download}}`{path.name} <{path.relative_to(FOLDER).as_posix()}>`"
