"""The folder of Markdown and notebooks that Sphinx reads."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat

from tutorlib.course import contents
from tutorlib.course.contents import reached
from tutorlib.course.glossary import GLOSSARY
from tutorlib.figures.registry import FIGURES as PLOTS
from tutorlib.measuring.results import Results, all_results
from tutorlib.notebook.standing import Course, Standing, course_of
from tutorlib.paths import DATA, FIGURES, NOTEBOOKS, SWEEPS
from tutorlib.problems.differences import count
from tutorlib.site.pages import LADDER, SHOWN, notebook_links, site_page, sources

HERE = Path(__file__).parent
CHANGED, AT_LENGTH = "*changed since*", "the page's code has *changed since*"


def write(folder: Path, answers: bool = False) -> None:
    """Write everything that Sphinx reads. Raises BuildError if a notebook is stale."""
    for copied, name in ((NOTEBOOKS, NOTEBOOKS.name), (FIGURES, FIGURES.name), (DATA, DATA.name)):
        shutil.copytree(copied, folder / name, ignore=shutil.ignore_patterns(".*", DATA.name))
    course, everything = course_of({}, contents.read_heads()), all_results()
    shown: dict[str, str] = {}  # figure → the page that shows it
    for one in course.notebooks:
        page = site_page(one.head.name, facts(one, everything), answers)
        nbformat.write(page, folder / f"{one.head.name}.ipynb")
        figures = SHOWN.findall("\n".join(sources(page)))
        shown |= dict.fromkeys(figures, f"[{one.head.title}]({one.head.name}.ipynb)")
    glossary = nbformat.read(NOTEBOOKS / f"{GLOSSARY}.ipynb", as_version=4)
    for cell in glossary.cells:
        cell.source = notebook_links(cell.source)
    nbformat.write(glossary, folder / f"{GLOSSARY}.ipynb")
    (folder / "figures.md").write_text(figures_page(shown), encoding="utf-8")
    (folder / "index.md").write_text(index(course, answers), encoding="utf-8")


def index(course: Course, answers: bool) -> str:
    """The contents page: index.md of this package with its fields filled in."""
    repository = os.environ.get("GITHUB_REPOSITORY")  # OWNER/NAME, if a workflow on GitHub builds the site
    fields = {
        "table": contents.contents_table(course),
        "pages": "\n".join(one.head.name for one in course.notebooks),
        "clone": f"git clone https://github.com/{repository}\n" if repository else "",
        "answers": "Each exercise has its answer, folded." if answers else "Answers are left out.",
    }
    text = (HERE / "index.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fields[found[1]], text)


def facts(one: Standing, everything: Sequence[Results]) -> str:
    """What a reader without a kernel should know, in MyST: the notebook's file, its points and its measurements."""
    name = one.head.name
    lines = [
        f"{{download}}`Download the notebook <{NOTEBOOKS.name}/{name}.ipynb>` to solve its exercises. "
        f"{count(one.max_points, 'point')}; without a GPU: {contents.without_gpu(one.exercises)}."
    ]
    if any(exercise.needs for exercise in one.exercises):
        ran = [results for results in everything if name in results.notebooks]
        lines += [f"On an {one.gpu}, {one.date}: {reached(name, one).replace(CHANGED, AT_LENGTH)}." for one in ran]
        lines += [] if ran else ["The kernels of this page have not been measured on a GPU yet."]
    return "\n\n".join([":::{container} facts", *lines, ":::"])


# The page of all figures, each with its data -------------------------------------------------------------------------

INTRO = """# Figures and their data

`tutor plots` draws each figure from these files, which `tutor sweep` and `tutor evidence` write on a GPU. A speed is a
ratio to a library's kernel, measured in turn with it in one run."""


def figures_page(shown: dict[str, str]) -> str:
    """The page in Markdown. shown: figure → the page that shows it, as a link."""
    parts = [INTRO]
    for name in PLOTS:
        if name in shown and not LADDER.fullmatch(name):
            parts += figure_section(name, shown[name])
    parts += ["## Measurements of the solutions", *(f"- {download(path)}" for path in sorted(DATA.glob("*.json")))]
    return "\n\n".join(parts) + "\n"


def figure_section(name: str, shown_on: str) -> Iterator[str]:
    """A section's blocks."""
    plot = PLOTS[name]
    yield f"({name})=\n## {plot.title}"
    yield f"Page {shown_on}."
    yield f"![{plot.title}]({FIGURES.name}/{name}.png)"
    drawn = [f"{{download}}`{kind.upper()} <{FIGURES.name}/{name}.{kind}>`" for kind in ("svg", "png")]
    yield " · ".join([*drawn, *(download(path) for path in data_of(plot.sweeps))])


def data_of(sweeps: tuple[str, ...]) -> list[Path]:
    """The files of these sweeps, one for each GPU; of none the solutions' results."""
    return [path for name in sweeps for path in sorted(SWEEPS.glob(f"*_{name}.json"))] or sorted(DATA.glob("*.json"))


def download(path: Path) -> str:
    """A link to a file of figures/data/."""
    return f"{{download}}`{path.name} <{path.relative_to(FIGURES).as_posix()}>`"
