"""The reports: a page for each student, for each exercise and for the class, each a single file."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tutorlib.checking.exercise import Exercise
from tutorlib.classroom.exports import report_name, write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.report_pages import WORDS, render, state_of
from tutorlib.classroom.task import Judged
from tutorlib.exercises import find
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.measuring.timing import Measurement

NEXT = 3  # exercises to look at next
COMMONEST = 20  # mistakes that the class page has


@dataclass(frozen=True)
class CommonMistake:
    """A message that several answers to an exercise got, numbers aside. says: the first answer's message."""

    exercise: Exercise
    says: str
    students: tuple[str, ...]


def write_reports(classroom: Classroom, out: Path, links: Iterable[Path] = ()) -> list[Path]:
    """Write OUT/index.html, OUT/students/NAME.html and OUT/exercise/NN.k.html. Raises OSError.

    links: files in OUT that the class page names.
    """
    pages = {out / "index.html": class_page(classroom, [path.name for path in links])}
    for grade in classroom.grades:
        pages[student_file(grade, out)] = page_in_child(partial(student_page, notebooks=classroom.notebooks), [grade])
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


def student_file(grade: Grade, out: Path) -> Path:
    """The file of the student's report."""
    return out / "students" / f"{report_name(grade.name)}.html"


def class_page(classroom: Classroom, links: Iterable[str] = ()) -> str:
    shares = [grade.points / grade.max_points for grade in classroom.graded if grade.max_points]
    return render(
        "class.html",
        classroom=classroom,
        links=tuple(links),
        median=median(shares) if shares else 0,
        rows=[exercise_row(classroom, id) for id in classroom.exercises],
        mistakes=mistakes(classroom)[:COMMONEST],
        board=board(classroom),
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
    """The page of the one student."""
    (grade,) = grades
    return render(
        "student.html",
        grade=grade,
        notebooks=notebooks,
        answers=dict(grade.submission.graded.answers),
        following=following(grade),
        kernels=[(find(id), measured) for id, measured in timed_kernels(grade).items()],
    )


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


def mistakes(classroom: Classroom) -> list[CommonMistake]:
    """The messages of answers that lost points, the most common first."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for grade in classroom.graded:
        for verdict in lost(grade):
            if state_of(verdict) != "unwritten":
                first_lines = "\n".join(verdict.outcome.message.split("\n")[:2])
                groups[verdict.outcome.id, re.sub(r"\d+", "#", first_lines)].append(
                    (grade.name, verdict.outcome.message)
                )
    found = [
        CommonMistake(find(id), told[0][1], tuple(student for student, _ in told)) for (id, _), told in groups.items()
    ]
    return sorted(found, key=lambda mistake: -len(mistake.students))


def lost(grade: Grade) -> list[Judged]:
    """The exercises that gave less than they could."""
    return [verdict for verdict in grade.judged if verdict.outcome.points < verdict.counts]


def following(grade: Grade) -> list[dict[str, str]]:
    """The next steps: the first exercises with points to gain, each with its message and a remedy or hint."""
    chosen = sorted(lost(grade), key=lambda verdict: state_of(verdict) == "unwritten")[:NEXT]
    steps = []
    for verdict in chosen:
        exercise, outcome = find(verdict.outcome.id), verdict.outcome
        remedy = outcome.remedy or (exercise.hints[0] if exercise.hints else "")
        steps.append({"id": exercise.id, "title": exercise.title, "says": outcome.message, "remedy": remedy})
    return steps


def timed_kernels(grade: Grade) -> dict[str, Measurement]:
    """The student's kernels that were timed, by exercise in the course's order."""
    told = {verdict.outcome.id: verdict.outcome.measurement for verdict in grade.judged}
    return {id: Measurement.from_json(found) for id, found in told.items() if found}


def board(classroom: Classroom) -> tuple[list[Exercise], list[tuple[str, dict[str, Measurement]]]]:
    """The exercises that were timed, and each student's speeds by exercise, the fastest student first."""
    speeds = {grade.name: timed_kernels(grade) for grade in classroom.grades}
    exercises = [find(id) for id in classroom.exercises if any(id in found for found in speeds.values())]
    rows = [(student, found) for student, found in speeds.items() if found]
    return exercises, sorted(rows, key=lambda row: -sum(measured.ratio for measured in row[1].values()))
