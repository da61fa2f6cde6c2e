"""The contents page's table: the notebooks, the points so far, and the points that this machine can grade."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.checking.exercise import Exercise
from tutorlib.machine import device
from tutorlib.measuring import results
from tutorlib.notebook.standing import Course, Head, NoRecord, Standing, State, best, course_of, heads
from tutorlib.problems.differences import count

if TYPE_CHECKING:
    from rich.table import Table

CSS = Path(__file__).with_suffix(".css")
RESET = "tutor progress --reset"
points_here = attrgetter("points_here")
SIGNS: dict[State, str] = {"passed": "✓", "partial": "◐", "failed": "✗", "not_run": "–", "open": "·"}
WORDS: dict[State, str] = {
    "passed": "passed",
    "partial": "partly right",
    "failed": "not right yet",
    "not_run": "not run here",
    "open": "not tried yet",
}


def show_contents() -> None:
    """The course at a glance: each notebook, your points so far, and the points that this machine can grade."""
    from IPython.display import display

    try:
        course, record = course_of(best(), heads()), record_line()
    except NoRecord as error:
        course, record = course_of({}, heads()), f"Your points cannot be read: {error}."
    notes = (machine_line(), record)
    display({"text/html": page(course, notes), "text/plain": "\n".join(notes)}, raw=True)


def machine_line() -> str:
    """The machine, and whether kernels run or are simulated."""
    found = device.gpu()
    if found is None:
        return f"This machine: {device.obstacle()}. Kernels are simulated; their speed is reported as not run."
    known = f"sm_{found.arch}" in results.load_targets()
    graded = "" if known else ", not graded by speed (`tutor calibrate` changes that)"
    return f"This machine: {found.name}, sm_{found.arch}. Kernels run here and are timed{graded}."


def record_line() -> str:
    now = f"{datetime.now():%Y-%m-%d, %H:%M}"
    return f"Points as of {now}, kept on this machine only. `tutor progress` prints them, `{RESET}` forgets them."


def points(part: Course | Standing) -> str:
    return f"{part.points:g} / {part.max_points}"


def hours(minutes: int) -> str:
    """90 → "90 min", 150 → "2.5 h", 860 → "14.5 h": rounded to half an hour, with a no-break space."""
    return f"{minutes}\N{NO-BREAK SPACE}min" if minutes < 120 else f"{round(minutes / 30) / 2:g}\N{NO-BREAK SPACE}h"


def time(head: Head) -> str:
    """The time of a notebook as HTML: the main path, and below it the appendix."""
    return hours(head.minutes) + (f"<br><small>appendix: {hours(head.appendix)}</small>" if head.appendix else "")


def table(course: Course) -> "Table":
    """The points by notebook, for a terminal."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
    shown.add_column("Notebook", "Total", min_width=16)
    shown.add_column("Points", points(course), justify="right", no_wrap=True)
    shown.add_column("Exercises", no_wrap=True)
    shown.add_column("")
    for notebook in course.notebooks:
        signs = "".join(SIGNS[notebook.state(exercise)] for exercise in notebook.exercises)
        begun = notebook.latest or (course.next and course.next[0] is notebook)
        shown.add_row(notebook.head.title, points(notebook), signs, notebook.left if begun else "")
    return shown


def legend() -> str:
    """The meanings of the table's signs."""
    return "   ".join(f"{SIGNS[state]} {WORDS[state]}" for state in SIGNS)


def page(course: Course, notes: tuple[str, ...]) -> str:
    """The table as HTML, with links and the points that this machine can grade; below it the notes."""
    lines = [
        '<div class="tutorlib-contents">',
        f"<style>{CSS.read_text(encoding='utf-8')}</style>",
        f"<p>{next_line(course)}</p>",
        "<table><thead><tr>",
        '<th>Notebook</th><th class="number">Time</th><th colspan="2">Your points</th><th>Graded here</th>',
        "</tr></thead><tbody>",
        *map(row, course.notebooks),
        "</tbody><tfoot><tr>",
        f'<td>Total</td><td class="number">{hours(course.minutes)}</td><td></td>',
        f'<td class="number">{points(course)}</td><td>{available(course.exercises, points_here)[0]}</td>',
        "</tr></tfoot></table>",
        *(f"<p>{line}</p>" for line in (key(course), *map(marked, notes)) if line),
        "</div>",
    ]
    return "\n".join(lines)


def key(course: Course) -> str:
    """The meanings of the colors in the table."""
    seen = {notebook.state(exercise) for notebook in course.notebooks for exercise in notebook.exercises} - {"open"}
    if seen <= {"passed"}:
        return ""
    chips = (f'<i class="key {state}"></i>{WORDS[state]}' for state in WORDS if state in seen)
    return "&emsp;".join(chips)


def next_line(course: Course) -> str:
    if course.next is None:
        return "All exercises that this machine can grade are solved."
    notebook, exercise = course.next
    title = escape(f"{exercise.id} {exercise.title}")
    return f"Next: <strong>{title}</strong> in {link(notebook)}"


def row(notebook: Standing) -> str:
    """One notebook."""
    cells = [
        f"<td>{link(notebook)}<br><small>{escape(notebook.head.summary)}</small></td>",
        f'<td class="number">{time(notebook.head)}</td>',
        f'<td><span class="bar">{"".join(segment(notebook, exercise) for exercise in notebook.exercises)}</span></td>',
        f'<td class="number">{points(notebook)}</td>',
        f"<td>{here(notebook)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def link(notebook: Standing) -> str:
    return f'<a href="{notebook.head.name}.ipynb">{escape(notebook.head.title)}</a>'


def segment(notebook: Standing, exercise: Exercise) -> str:
    """An exercise's part of the bar, as wide as its points."""
    state, got = notebook.state(exercise), notebook.points_of(exercise)
    says = f"{exercise.id} {exercise.title}: {WORDS[state]}, {got:g} of {count(exercise.points, 'point')}"
    return f'<i class="{state}" style="flex-grow: {exercise.points}" title="{escape(says)}"></i>'


def here(notebook: Standing) -> str:
    """The points of a notebook that this machine can grade, and what grades the rest."""
    part, rest = available(notebook.exercises, points_here)
    return f"{part}<br><small>{rest}</small>"


def available(exercises: Sequence[Exercise], given: Callable[[Exercise], float]) -> tuple[str, str]:
    """The points of the exercises that a machine can grade, and what grades the rest.

    ("all", ""), or ("6 of 17", "rest: sm_80"). given: the points of an exercise that the machine can grade.
    """
    wanted = sorted(
        {exercise.needs.since for exercise in exercises if exercise.needs and given(exercise) < exercise.points}
    )
    if not wanted:
        return "all", ""
    part = f"{sum(map(given, exercises)):g} of {sum(exercise.points for exercise in exercises)}"
    return part, "rest: " + ", ".join(f"sm_{since}" for since in wanted)


def marked(text: str) -> str:
    """Text with `code` as HTML."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
