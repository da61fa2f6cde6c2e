"""A page of the site: the solved notebook with each answer replaced by the exercise as a student finds it."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import unquote

import nbformat
from nbformat import NotebookNode, v4

from tutorlib.course.answers import names_for
from tutorlib.course.source import BuildError, SourceCell, parse, telling_lines
from tutorlib.exercises import find
from tutorlib.notebook.standing import CONTENTS
from tutorlib.paths import NOTEBOOKS, SOLUTIONS
from tutorlib.problems.differences import count

LINK = re.compile(r"\]\((?P<stem>\w+)\.ipynb(?:#(?P<anchor>[^)\s]+))?\)")
SHORT = 16  # characters: a line like "return out" gives nothing away
HIDDEN = "‹a line of the answer›"


def site_page(name: str, facts: str) -> NotebookNode:
    """The page of a notebook. Raises BuildError if the solved notebook is stale.

    facts: Markdown below the first cell.
    """
    cells = parse(SOLUTIONS / f"{name}.py")
    solved = nbformat.read(SOLUTIONS / f"{name}.ipynb", as_version=4)
    if [cell.solved for cell in cells if cell.kind == "code"] != sources(solved):
        raise BuildError(f"{SOLUTIONS / name}.ipynb: stale; run `tutor build {name[:2]}`")
    hidden = secrets(cells)
    nodes: list[NotebookNode] = []
    for cell, node in zip(cells, solved.cells, strict=True):
        nodes += site_cells(cell, node, hidden)
    nodes.insert(1, v4.new_markdown_cell(facts, id="facts"))
    add_explorers(nodes)
    solved.cells = nodes
    return solved


def notebook_links(text: str) -> str:
    """Markdown of a notebook, whose anchors are JupyterLab's, with the anchors of the site, which are GitHub's."""
    from myst_parser.slugs import github_slugify

    def replaced(link: re.Match[str]) -> str:
        page = "index.md" if link["stem"] == CONTENTS else f"{link['stem']}.ipynb"
        return f"]({page}{'#' + github_slugify(unquote(link['anchor'])) if link['anchor'] else ''})"

    return LINK.sub(replaced, text)


def sources(notebook: NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def site_cells(cell: SourceCell, node: NotebookNode, hidden: tuple[str, ...]) -> Iterator[NotebookNode]:
    """The cells of the site for a cell of the solved notebook."""
    if cell.kind == "markdown":
        node.source = notebook_links(node.source)
        yield node
        return
    node.metadata["mystnb"] = {"image": {"alt": f"Output of {node.source.splitlines()[-1].strip()}"}}
    if cell.role == "answer":
        yield v4.new_code_cell(cell.unsolved, id=f"unsolved-{node.id}"[:64])
        return
    if cell.role == "check":
        node.outputs = [html_output(check_note(cell.exercise))]
    elif "show_source(" not in node.source:  # which shows the library's code to every student
        for output in node.outputs:
            redact(output, hidden)
    yield node


def html_output(html: str) -> NotebookNode:
    return v4.new_output("display_data", {"text/html": html})


def check_note(id: str) -> str:
    """The points of an exercise in place of its check's output."""
    exercise = find(id)
    anywhere = "" if exercise.points_anywhere == exercise.points else f", {exercise.points_anywhere:g} without a GPU"
    says = f"Not run here. In the notebook, this cell checks your answer: {count(exercise.points, 'point')}{anywhere}."
    return f'<p class="note">{says}</p>'


def secrets(cells: Iterable[SourceCell]) -> tuple[str, ...]:
    """The lines of a page's answers that no notebook for students has, the longest first."""
    answers = {line for cell in cells for region in cell.regions for line in telling_lines(cell.answer(region))}
    return tuple(sorted((line for line in answers - given() if len(line) > SHORT), key=len, reverse=True))


@cache
def given() -> frozenset[str]:
    """Every line of code that students are given, on any page."""
    pages = (nbformat.read(path, as_version=4) for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")))
    return frozenset(line for page in pages for text in sources(page) for line in telling_lines(text.split("\n")))


def redact(output: NotebookNode, hidden: Iterable[str]) -> None:
    """Replace the lines of an answer in an output's text, as `explain` and the compilers' remarks quote them."""
    texts = output if "text" in output else output.get("data", {})
    for kind in [kind for kind in texts if kind.startswith("text")]:
        for line in hidden:
            texts[kind] = texts[kind].replace(line, HIDDEN).replace(escape(line), HIDDEN)


def add_explorers(nodes: Iterable[NotebookNode]) -> None:
    """Put the description of each explorer before its picture; the browser builds the explorer from it."""
    above: list[str] = []
    for node in nodes:
        if node.cell_type != "code":
            continue
        if found := explorer_data(node.source, above):
            text = json.dumps(found, ensure_ascii=False).replace("<", "\\u003c")
            script = f'<script type="application/json">{text}</script>'
            node.outputs.insert(0, html_output(f'<div class="explorer">{script}</div>'))
        above.append(node.source)


PREFIX = "explore_"


def explorer_data(source: str, above: Sequence[str]) -> dict[str, Any] | None:
    """The description of the explorer that a cell ends with (`explorers.explorers.Explorer`); None without one.

    above: the code cells above it, from which the call's names come.
    """
    match ast.parse(source).body[-1:]:
        case [ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)] if name.startswith(PREFIX):
            names = names_for(call, "\n".join([*above, source]))
            return eval(compile(ast.Expression(call), "<page>", "eval"), names).description
    return None
