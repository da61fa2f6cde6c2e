"""The reports: a page for each student, for each exercise and for the class, each a single file.

All values in them are escaped, and code is highlighted.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tutorlib.checking.exercise import Status
from tutorlib.classroom.class_run import LONGEST_ANSWER
from tutorlib.classroom.files import report_name, write_whole
from tutorlib.classroom.gradebook import Judged
from tutorlib.classroom.grades import MISSING, Classroom, Grade
from tutorlib.exercises import find
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.notebook.course_table import WORDS as STATES

TEMPLATES = Path(__file__).with_name("templates")
StateShown = Status | Literal["unwritten"]
WORDS: dict[StateShown, str] = {
    "passed": STATES["passed"],
    "not_run": STATES["not_run"],
    "partial": STATES["partial"],
    "failed": STATES["failed"],
    "error": "ended its notebook",
    "timeout": "out of time",
    "unwritten": "not written",
}
MOST_MARKUP = 10  # bytes of HTML for a character; code has 6 or 7, and text that is made of signs alone has more
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, and marks that turn a line around

NOT_WRITTEN = ("not written yet", MISSING)


def write_reports(classroom: Classroom, out: Path, links: Iterable[Path] = ()) -> list[Path]:
    """Write OUT/index.html, OUT/students/NAME.html and OUT/exercise/NN.k.html. Raises OSError.

    links: files in OUT that the class page names.
    """
    pages = {out / "index.html": class_page(classroom, [path.name for path in links])}
    for grade in classroom.grades:
        made = page_in_child(partial(student_page, notebooks=classroom.notebooks), [grade])
        pages[out / "students" / f"{report_name(grade.name)}.html"] = made
    for id in classroom.exercises:
        made = page_in_child(partial(exercise_page, id=id), classroom.grades)
        pages[out / "exercise" / f"{id}.html"] = made
    for path, text in pages.items():
        write_whole(path, text.encode("utf-8", "replace"))
    return list(pages)


def page_in_child(page: Callable[[Iterable[Grade]], str], grades: Sequence[Grade]) -> str:
    """A page with answers, made in a child process with limits; without them if highlighting them exceeds these."""
    try:
        return in_child(Allowance(), page, grades)
    except Exceeded:
        return page([grade.without_answers() for grade in grades])


def class_page(classroom: Classroom, links: Iterable[str] = ()) -> str:
    shares = [grade.points / grade.max_points for grade in classroom.graded if grade.max_points]
    return render(
        "class.html",
        classroom=classroom,
        links=tuple(links),
        median=median(shares) if shares else 0,
        rows=[exercise_row(classroom, id) for id in classroom.exercises],
    )


def exercise_page(grades: Iterable[Grade], id: str) -> str:
    """All students' answers to an exercise, by verdict, then by message."""
    answers = [
        (grade, verdict, dict(grade.submission.graded.answers).get(id, ""))
        for grade in grades
        for verdict in grade.judged
        if verdict.outcome.id == id and not grade.failed
    ]
    order = {state: n for n, state in enumerate(WORDS)}
    answers.sort(key=lambda each: (order[state_of(each[1])], -each[1].points, each[1].outcome.message))
    return render("exercise.html", exercise=find(id), answers=answers)


def student_page(grades: Iterable[Grade], notebooks: Iterable[str]) -> str:
    """The page of the only student in `grades`."""
    (grade,) = grades
    return render("student.html", grade=grade, notebooks=notebooks, answers=dict(grade.submission.graded.answers))


def exercise_row(classroom: Classroom, id: str) -> dict[str, Any]:
    """An exercise's row: the share of its points that the class got, and the number of students with each status."""
    judged = [verdict for grade in classroom.graded for verdict in grade.judged if verdict.outcome.id == id]
    most = sum(verdict.counts for verdict in judged)
    statuses = Counter(map(state_of, judged))
    return {
        "exercise": find(id),
        "share": sum(verdict.outcome.points for verdict in judged) / most if most else None,
        "statuses": {status: statuses[status] for status in WORDS if statuses[status]},
    }


# Templates ------------------------------------------------------------------------------------------------------------


def render(template: str, **values: Any) -> str:
    """A page. Everything that it is told is escaped, but for what `highlighted` has made of a student's code."""
    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"points": "{:g}".format, "highlighted": highlighted, "report_name": report_name}
    environment.globals |= {"WORDS": WORDS, "LONGEST_ANSWER": LONGEST_ANSWER}
    environment.globals |= {"state_of": state_of, "verdict_text": verdict_text}
    return environment.get_template(template).render(values)


def verdict_text(verdict: Judged) -> str:
    """An outcome's text beside its state; for a right answer, without the line that has its points."""
    state, message = state_of(verdict), verdict.outcome.message
    return "" if state == "unwritten" else message.partition("\n")[2] if state == "passed" else message


def state_of(verdict: Judged) -> StateShown:
    """The state that a page shows for an outcome: an answer that is still to be written is no mistake."""
    return "unwritten" if verdict.outcome.message in NOT_WRITTEN else verdict.outcome.status


def visible(text: str) -> str:
    """The text with a sign such as ‹U+202E› for each character that hides, or that changes how others are seen."""
    text = re.sub("\r\n?", "\n", text[:LONGEST_ANSWER])
    seen = (f"‹U+{ord(c):04X}›" if c not in "\n\t" and unicodedata.category(c) in INVISIBLE else c for c in text)
    return "".join(seen)[:LONGEST_ANSWER]


def highlighted(text: str) -> Markup:
    """Code as HTML, for a <pre>: its first LONGEST_ANSWER characters."""
    shown = visible(text)
    html = highlight(shown, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return Markup(html) if len(html) <= MOST_MARKUP * len(shown) + 100 else escape(shown)
