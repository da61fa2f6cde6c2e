"""The contents page: solutions/contents.py, with a row for each notebook from the head of its source.

A head is

    # ---
    # jupyter:
    #   tutorlib:
    #     minutes: 45
    #     summary: One sentence.
    # ---

and, for a page with an appendix, `appendix: 30`, its minutes beyond the page's.

The rows are the output of the cell that calls `show_contents`, so that the unrun page has a table, without points. The
heads are in the page's metadata, from which `show_contents` reads them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path

from nbformat import NotebookNode, v4

from tutorlib.checking.exercise import Exercise
from tutorlib.course.build import student_notebook, text_of
from tutorlib.course.source import BuildError, parse, read
from tutorlib.notebook.contents import available, hours, time
from tutorlib.notebook.standing import CONTENTS, Course, Head, course_of
from tutorlib.paths import NOTEBOOKS, SOLUTIONS

CALL = "show_contents()"
ANYWHERE = attrgetter("points_anywhere")


def read_head(source: Path) -> Head:
    """The head of a source. Raises BuildError with every fault found."""
    notebook = read(source)
    title = notebook.cells[0].source.split("\n")[0]
    head = notebook.metadata.get("tutorlib", {})
    if found := list(faults(source.stem, title, head)):
        raise BuildError("\n".join(f"{source}:1: {fault}" for fault in found))
    return Head(source.stem, title.removeprefix("# "), head["summary"], head["minutes"], head.get("appendix", 0))


def read_heads(solutions: Path = SOLUTIONS) -> tuple[Head, ...]:
    """The heads of all sources; none if the course has no contents page. Raises BuildError."""
    listed = (solutions / f"{CONTENTS}.py").exists()
    return tuple(map(read_head, sorted(solutions.glob("[0-9][0-9]_*.py")))) if listed else ()


def faults(name: str, title: str, head: dict) -> Iterator[str]:
    """The faults of a head, each with the line to write."""
    if not title.startswith(f"# {name[:2]} · "):
        yield f'the first cell should begin with the title, "# {name[:2]} · …"'
    minutes, summary = head.get("minutes"), head.get("summary")
    if not isinstance(minutes, int) or minutes <= 0:
        yield 'the head should have "minutes: 45", the time that the notebook takes, as solutions/00_start.py has'
    appendix = head.get("appendix", 0)
    if not isinstance(appendix, int) or appendix < 0:
        yield 'the head should have "appendix: 30", the minutes of its appendix, or no such line'
    if not isinstance(summary, str) or not summary or "\n" in summary:
        yield 'the head should have "summary: …", one sentence for the contents page, as solutions/00_start.py has'


def table(course: Course) -> str:
    """The notebooks as a table in Markdown."""
    rows = [["Notebook", "Time", "Points", "Without a GPU"], [":--", "--:", "--:", ":--"]]
    for one in course.notebooks:
        title = f"[{one.head.title}]({one.head.name}.ipynb)<br>{one.head.summary}"
        rows.append([title, time(one.head), str(one.max_points), without_gpu(one.exercises)])
    rows.append(["**Total**", *last_row(course)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def without_gpu(exercises: Sequence[Exercise]) -> str:
    """The points that any machine grades, and what the others need: "35 of 36; rest: sm_100"."""
    return "; ".join(filter(None, available(exercises, ANYWHERE)))


def last_row(course: Course) -> tuple[str, str, str]:
    """The last row in Markdown: the course's time, its points, and those that any machine grades."""
    return f"**{hours(course.minutes)}**", f"**{course.max_points}**", f"**{available(course.exercises, ANYWHERE)[0]}**"


def contents_page(source: Path, heads: tuple[Head, ...]) -> NotebookNode:
    """Raises BuildError."""
    notebook = student_notebook(parse(source))
    calls = [cell for cell in notebook.cells if cell.cell_type == "code" and CALL in cell.source]
    if len(calls) != 1:
        raise BuildError(f"{source}:1: one cell should call {CALL}: the table is its output")
    text = table(course_of({}, heads))
    calls[0].outputs = [v4.new_output("display_data", {"text/markdown": text, "text/plain": text})]
    calls[0].execution_count = 1  # nbval refuses outputs without a count
    notebook.metadata["tutorlib"] = {"notebooks": [asdict(head) for head in heads]}
    return notebook


def build(solutions: Path = SOLUTIONS, notebooks: Path = NOTEBOOKS) -> dict[Path, str]:
    """The contents page: path → text; empty if it has no source. Raises BuildError."""
    source = solutions / f"{CONTENTS}.py"
    if not source.exists():
        return {}
    return {notebooks / f"{CONTENTS}.ipynb": text_of(contents_page(source, read_heads(solutions)))}
