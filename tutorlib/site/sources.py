"""The folder of Markdown and notebooks that Sphinx reads."""

import ast
import inspect
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode

from tutorlib.course import contents
from tutorlib.course.glossary import GLOSSARY, anchor
from tutorlib.course.readme import reached
from tutorlib.figures.registry import FIGURES
from tutorlib.measuring.results import Results, all_results
from tutorlib.notebook.standing import CONTENTS, Course, Standing, course_of
from tutorlib.paths import DATA, NOTEBOOKS, ROOT, SWEEPS
from tutorlib.paths import FIGURES as DRAWN
from tutorlib.problems.wrong import count
from tutorlib.site.pages import LADDER, SHOWN, page

HERE = Path(__file__).parent
DOCS = ROOT / "docs"
REPOSITORY = "GITHUB_REPOSITORY"  # environment variable of a workflow on GitHub: OWNER/NAME
MANUALS = ("CONTRIBUTING.md",)  # in the repository's root; those of docs/ are all taken
CHANGED, AT_LENGTH = "*changed since*", "the page's code has *changed since*"
FIGURES_INTRO = """`tutor plots` draws each figure from these files, which `tutor sweep` and `tutor evidence` write on a
GPU. A speed is a ratio to a library's kernel, measured in turn with it in one run."""
LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^]\[]|\[[^]]*\])*)\]\((?!\w+:|#)(?P<path>[^)#\s]+)(?P<fragment>#[^)\s]+)?\)")


def write(folder: Path, answers: bool = False) -> None:
    """Write everything that Sphinx reads. Raises BuildError if a notebook is stale."""
    folder.mkdir(parents=True)
    for copied in (NOTEBOOKS, DATA):
        shutil.copytree(copied, folder / copied.name, ignore=shutil.ignore_patterns(".*"))
    shutil.copytree(DRAWN, folder / DRAWN.name, ignore=shutil.ignore_patterns(DATA.name))
    course, everything = course_of({}, contents.read_heads()), all_results()
    titles: dict[str, str] = {}  # figure → the page that shows it, as a link
    for one in course.notebooks:
        built = page(one.head.name, facts(one, everything), answers)
        nbformat.write(built, folder / f"{one.head.name}.ipynb")
        text = "\n".join(cell.source for cell in built.cells)
        titles |= dict.fromkeys(SHOWN.findall(text), f"[{one.head.title}]({one.head.name}.ipynb)")
    nbformat.write(glossary(), folder / f"{GLOSSARY}.ipynb")
    (folder / "figures.md").write_text(figures_page(titles), encoding="utf-8")
    manuals = [*(ROOT / name for name in MANUALS), *sorted(DOCS.glob("*.md"))]
    for path in manuals:
        (folder / path.name).write_text(relinked(path), encoding="utf-8")
    (folder / "index.md").write_text(index(course, [path.stem for path in manuals], answers), encoding="utf-8")


def slug(heading: str) -> str:
    """The anchor of a heading, to which links between notebooks lead."""
    return unquote(anchor(heading))


def glossary() -> NotebookNode:
    """The glossary, whose terms are headings of level 2, as a page needs them."""
    found = nbformat.read(NOTEBOOKS / f"{GLOSSARY}.ipynb", as_version=4)
    for cell in found.cells:
        cell.source = re.sub("^### ", "## ", cell.source)
    return found


def index(course: Course, manuals: Sequence[str], answers: bool) -> str:
    """The contents page: index.md of this folder with the table and the trees of pages filled in."""
    fields = {
        "table": contents.table(course),
        "pages": "\n".join(one.head.name for one in course.notebooks),
        "manuals": "\n".join(manuals),
        "clone": f"git clone https://github.com/{repository}\n" if (repository := os.environ.get(REPOSITORY)) else "",
        "answers": "Each exercise has its answer, folded." if answers else "Answers are left out.",
    }
    text = (HERE / "index.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: fields[found[1]], text)


def facts(one: Standing, everything: Sequence[Results]) -> str:
    """What a reader of a page without a kernel should know: the notebook's file, its points, its measurements."""
    name = one.head.name
    lines = [
        f"{{download}}`Download the notebook <notebooks/{name}.ipynb>` to solve its exercises. "
        f"{count(one.max_points, 'point')}; without a GPU: {contents.without_gpu(one.exercises)}."
    ]
    if any(exercise.needs for exercise in one.exercises):
        found = [results for results in everything if name in results.notebooks]
        lines += [f"On an {one.gpu}, {one.date}: {reached(name, one).replace(CHANGED, AT_LENGTH)}." for one in found]
        lines += [] if found else ["The kernels of this page have not been measured on a GPU yet."]
    body = "\n\n".join(lines)
    return f":::{{container}} facts\n{body}\n:::"


def figures_page(shown: dict[str, str]) -> str:
    """Every figure with its page and its data. shown: figure → the page that shows it, as a link."""
    parts = ["# Figures and their data", FIGURES_INTRO]
    for name in FIGURES:
        if name in shown and not LADDER.fullmatch(name):
            parts += figure_section(name, shown[name])
    parts += ["## Measurements of the solutions", *(f"- {download(path)}" for path in sorted(DATA.glob("*.json")))]
    return "\n\n".join(parts) + "\n"


def figure_section(name: str, shown_on: str) -> Iterator[str]:
    draw = FIGURES[name]
    module = inspect.getmodule(draw)
    assert module is not None
    says = (module.__doc__ or "").split("\n")[0].removeprefix("The figure of ").rstrip(".")
    title, _, caption = says.partition(": ")
    if re.fullmatch(r"notebook \d\d", title):
        title, caption = caption, ""
    yield f"({name})=\n## {title[0].upper()}{title[1:]}"
    yield f"Page {shown_on}." + (f" {caption[0].upper()}{caption[1:]}." if caption else "")
    yield f"![{says}](figures/{name}.png)"
    links = [f"{{download}}`{kind.upper()} <figures/{name}.{kind}>`" for kind in ("svg", "png")]
    yield " · ".join([*links, *(download(path) for path in data_of(name, inspect.getsource(module)))])


def data_of(name: str, code: str) -> list[Path]:
    """The sweeps that the module of a figure names; the solutions' results if it names none."""
    words = {str(node.value) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)} | {name}
    found = [path for path in sorted(SWEEPS.glob("*.json")) if any(path.stem.endswith(f"_{word}") for word in words)]
    return found or sorted(DATA.glob("*.json"))


def download(path: Path) -> str:
    return f"{{download}}`{path.name} <{path.relative_to(DRAWN).as_posix()}>`"


def relinked(manual: Path) -> str:
    """A manual of the repository with its links as the site's: to pages, else to the repository, else no links."""
    repository = os.environ.get(REPOSITORY)

    def replaced(link: re.Match[str]) -> str:
        target = (manual.parent / link["path"]).resolve()
        if target.suffix in (".md", ".ipynb") and target.parent in (ROOT, DOCS, NOTEBOOKS) and target.stem != "README":
            stem = "index.md" if target.stem == CONTENTS else target.name
            return f"[{link['text']}]({stem}{link['fragment'] or ''})"
        if repository:
            path = target.relative_to(ROOT).as_posix()
            return f"[{link['text']}](https://github.com/{repository}/blob/HEAD/{path}{link['fragment'] or ''})"
        return link["text"]

    return LINK.sub(replaced, manual.read_text(encoding="utf-8"))
