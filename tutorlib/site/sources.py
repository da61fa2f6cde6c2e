"""The folder of Markdown and notebooks that Sphinx reads."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat

from tutorlib.course import contents
from tutorlib.course.contents import reached
from tutorlib.course.glossary import GLOSSARY
from tutorlib.measuring.results import Results, all_results
from tutorlib.notebook.standing import Course, Standing, course_of
from tutorlib.paths import DATA, FIGURES, NOTEBOOKS
from tutorlib.problems.differences import count
from tutorlib.site.pages import notebook_links, site_page

HERE = Path(__file__).parent
CHANGED, AT_LENGTH = "*changed since*", "the page's code has *changed since*"


def write(folder: Path) -> None:
    """Write everything that Sphinx reads. Raises BuildError if a notebook is stale."""
    for copied in (NOTEBOOKS, FIGURES):
        shutil.copytree(copied, folder / copied.name, ignore=shutil.ignore_patterns(".*", DATA.name))
    course, everything = course_of({}, contents.read_heads()), all_results()
    for standing in course.notebooks:
        name = standing.head.name
        nbformat.write(site_page(name, facts(standing, everything)), folder / f"{name}.ipynb")
    glossary = nbformat.read(NOTEBOOKS / f"{GLOSSARY}.ipynb", as_version=4)
    for cell in glossary.cells:
        cell.source = notebook_links(cell.source)
    nbformat.write(glossary, folder / f"{GLOSSARY}.ipynb")
    (folder / "index.md").write_text(index(course), encoding="utf-8")


def index(course: Course) -> str:
    """The contents page: index.md of this package with its fields filled in."""
    repository = os.environ.get("GITHUB_REPOSITORY")  # OWNER/NAME, if a workflow on GitHub builds the site
    fields = {
        "table": contents.contents_table(course),
        "pages": "\n".join(standing.head.name for standing in course.notebooks),
        "clone": f"git clone https://github.com/{repository}\n" if repository else "",
    }
    text = (HERE / "index.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fields[found[1]], text)


def facts(standing: Standing, everything: Sequence[Results]) -> str:
    """What a reader without a kernel should know, in MyST: the notebook's file, its points and its measurements."""
    name = standing.head.name
    lines = [
        f"{{download}}`Download the notebook <{NOTEBOOKS.name}/{name}.ipynb>` to solve its exercises. "
        f"{count(standing.max_points, 'point')}; without a GPU: {contents.without_gpu(standing.exercises)}."
    ]
    if any(exercise.needs for exercise in standing.exercises):
        ran = [results for results in everything if name in results.notebooks]
        lines += [f"On an {on.gpu}, {on.date}: {reached(name, on).replace(CHANGED, AT_LENGTH)}." for on in ran]
        lines += [] if ran else ["The kernels of this page have not been measured on a GPU yet."]
    return "\n\n".join([":::{container} facts", *lines, ":::"])
