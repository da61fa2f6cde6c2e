"""The folder of Markdown and notebooks that Sphinx reads."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat

from tutorlib.course import contents
from tutorlib.course.glossary import GLOSSARY
from tutorlib.course.readme import reached
from tutorlib.measuring.results import Results, all_results
from tutorlib.notebook.standing import Course, Standing, course_of
from tutorlib.paths import DATA, FIGURES, NOTEBOOKS, ROOT
from tutorlib.problems.differences import count
from tutorlib.site.figures_page import figures_page
from tutorlib.site.links import manual_text, notebook_links, repository
from tutorlib.site.pages import SHOWN, site_page, sources

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
    manuals = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for path in manuals:
        (folder / path.name).write_text(manual_text(path, manuals, folder), encoding="utf-8")
    (folder / "index.md").write_text(index(course, [path.stem for path in manuals], answers), encoding="utf-8")


def index(course: Course, manuals: Sequence[str], answers: bool) -> str:
    """The contents page: index.md of this package with its fields filled in."""
    address = repository()
    fields = {
        "table": contents.table(course),
        "pages": "\n".join(one.head.name for one in course.notebooks),
        "manuals": "\n".join(manuals),
        "clone": f"git clone {address}\n" if address else "",
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
