"""The pages that are made of all notebooks: the contents page, README's paths, docs/results.md, the glossary."""

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

from nbformat import NotebookNode, v4

from tutorlib.checking.exercise import Exercise
from tutorlib.course import glossary
from tutorlib.course.build import student_notebook, text_of
from tutorlib.course.measure_solutions import code_sha256
from tutorlib.course.source import BuildError, parse, read
from tutorlib.exercises import find, of_notebook
from tutorlib.measuring.results import Result, Results, all_results
from tutorlib.notebook.course_table import Column, available, linked, paths, table
from tutorlib.notebook.measured import show_ratio
from tutorlib.notebook.standing import CONTENTS, Course, Head, course_of
from tutorlib.paths import NOTEBOOKS, ROOT, SOLUTIONS

CALL = "show_contents()"


def read_head(source: Path) -> Head:
    """The head of a source. Raises BuildError.

    A head is

        # ---
        # jupyter:
        #   tutorlib:
        #     minutes: 45
        #     summary: One sentence.
        # ---

    and, for a page with an appendix, `appendix: 30`, its minutes beyond the page's.
    """
    notebook = read(source)
    title = notebook.cells[0].source.split("\n")[0]
    head = notebook.metadata.get("tutorlib", {})
    minutes, appendix, summary = head.get("minutes"), head.get("appendix", 0), head.get("summary")
    times = isinstance(minutes, int) and minutes > 0 and isinstance(appendix, int) and appendix >= 0
    said = isinstance(summary, str) and summary and "\n" not in summary
    if not (title.startswith(f"# {source.stem[:2]} · ") and times and said):
        page = f'the title "# {source.stem[:2]} · …", "minutes: 45" and "summary: …", one sentence'
        raise BuildError(f"{source}:1: the page should begin with {page}, as solutions/00_start.py does")
    return Head(source.stem, title.removeprefix("# "), summary, minutes, appendix)


def read_heads(solutions: Path = SOLUTIONS) -> tuple[Head, ...]:
    """The heads of all sources; none if the course has no contents page. Raises BuildError."""
    listed = (solutions / f"{CONTENTS}.py").exists()
    return tuple(map(read_head, sorted(solutions.glob("[0-9][0-9]_*.py")))) if listed else ()


def contents_table(course: Course) -> str:
    """The notebooks as a table in Markdown, with their summaries."""
    return table(course, linked, points_columns(course))


def points_columns(course: Course) -> dict[str, Column]:
    """The columns of a course without attempts: points, and those that any machine grades."""
    return {
        "Points": (lambda page: str(page.max_points), str(course.max_points)),
        "Points without a GPU": (
            lambda page: without_gpu(page.exercises),
            without_gpu(course.exercises).partition(";")[0],
        ),
    }


def without_gpu(exercises: Sequence[Exercise]) -> str:
    """The points that any machine grades, and what the others need: "35 of 36; rest: sm_100"."""
    return available(exercises, attrgetter("points_anywhere"))


def contents_page(source: Path, heads: tuple[Head, ...]) -> NotebookNode:
    """The contents page. Raises BuildError.

    Its rows are the output of the cell that calls `show_contents`, so that the unrun page has a table, without points.
    The heads are in the page's metadata, from which `show_contents` reads them.
    """
    notebook = student_notebook(parse(source))
    calls = [cell for cell in notebook.cells if cell.cell_type == "code" and CALL in cell.source]
    if len(calls) != 1:
        raise BuildError(f"{source}:1: one cell should call {CALL}: the table is its output")
    course = course_of({}, heads)
    text = f"{paths(course)}\n\n{contents_table(course)}"
    calls[0].outputs = [v4.new_output("display_data", {"text/markdown": text, "text/plain": text})]
    calls[0].execution_count = 1  # nbval refuses outputs without a count
    notebook.metadata["tutorlib"] = {"notebooks": [asdict(head) for head in heads]}
    return notebook


# README has the paths through the course; docs/results.md a row for each notebook, a column for each GPU on which the
# solutions ran --------------------------------------------------------------------------------------------------------

README = ROOT / "README.md"
RESULTS = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- begin table -->", "<!-- end table -->"


def results_table(everything: Sequence[Results]) -> str:
    """The table of docs/results.md. Raises BuildError if the head of a source has a fault."""
    course = course_of({}, read_heads())
    columns = points_columns(course)
    for found in everything:
        columns[f"{found.gpu}, {found.date}, torch {found.machine['packages']['torch']}"] = gpu_column(found)
    return table(course, lambda head: f"[{head.title}](../notebooks/{head.name}.ipynb)", columns)


def gpu_column(results: Results) -> Column:
    return lambda page: reached(page.head.name, results), points_reached(results.exercises.values())


def reached(name: str, results: Results) -> str:
    """One GPU's results of a notebook: points, the fastest timed kernel, and whether its code has changed since.

    Points are those of the page that ran, which may have had fewer exercises.

    "–" for a notebook that needs no GPU: make test and make grade run it on every machine.
    """
    if not any(exercise.needs for exercise in of_notebook(name)):
        return "–"
    if name not in results.notebooks:
        return "not run"
    found = results.of_notebook(name[:2]).values()
    parts = [points_reached(found)]
    if timed := results.timed(name[:2]):
        best = max(timed, key=lambda id: timed[id].ratio)
        parts.append(f"{find(best).title}: {timed[best].rate}, {show_ratio(timed[best])} of {timed[best].baseline}")
    if results.notebooks[name] != code_sha256(name):
        parts.append("*changed since*")
    return "; ".join(parts)


def points_reached(found: Collection[Result]) -> str:
    return f"{sum(result.points for result in found):g} of {sum(result.max_points for result in found):g} points"


def with_table(path: Path, text: str) -> str:
    """A file's text with this table between its two markers."""
    inside = re.compile(f"(?<={BEGIN}\n).*(?=\n?{END})", re.DOTALL)
    return inside.sub(lambda _: text + "\n", path.read_text(encoding="utf-8"))


def build(solutions: Path = SOLUTIONS, notebooks: Path = NOTEBOOKS) -> dict[Path, str]:
    """README, the results, the glossary and, if it has a source, the contents page: path → text. Raises BuildError."""
    built = {}
    if (source := solutions / f"{CONTENTS}.py").exists():
        built[notebooks / f"{CONTENTS}.ipynb"] = text_of(contents_page(source, read_heads(solutions)))
    built[README] = with_table(README, paths(course_of({}, read_heads())))
    built[RESULTS] = with_table(RESULTS, results_table(all_results()))
    text = text_of(glossary.glossary_page(solutions))
    return built | {folder / f"{glossary.GLOSSARY}.ipynb": text for folder in (notebooks, solutions)}
