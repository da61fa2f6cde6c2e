"""The reports: a page for each student, for each exercise and for the class, each a single file."""

import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tutorlib.checking.exercise import Exercise
from tutorlib.checking.kernel import KernelExercise
from tutorlib.classroom.exports import file_stems, write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.report_pages import WORDS, render, state_of, title
from tutorlib.classroom.task import Judged
from tutorlib.exercises import find
from tutorlib.grading.limited_process import Allowance, Exceeded, in_child
from tutorlib.machine.hardware import hardware_of
from tutorlib.measuring.measurement import Measurement

NEXT = 3  # exercises to look at next
COMMONEST = 20  # mistakes that the class page has


@dataclass(frozen=True)
class CommonMistake:
    """A message that several answers to an exercise got, numbers aside. says: as the first of them has it."""

    exercise: Exercise
    says: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class TimedKernel:
    """A kernel that was timed."""

    student: str
    exercise: Exercise
    measured: Measurement


def write_reports(classroom: Classroom, out: Path, links: Iterable[Path] = ()) -> list[Path]:
    """Write OUT/index.html, OUT/students/NAME.html and OUT/exercise/NN.k.html. Raises OSError.

    links: files in OUT that the class page names.
    """
    students = student_files(classroom, out)
    stems = {name: path.stem for name, path in students.items()}
    pages = {out / "index.html": class_page(classroom, stems, [path.name for path in links])}
    for grade in classroom.grades:
        pages[students[grade.name]] = page_in_child(partial(student_page, notebooks=classroom.notebooks), [grade])
    for id in classroom.exercises:
        made = page_in_child(partial(exercise_page, id=id, stems=stems), classroom.grades)
        pages[out / "exercise" / f"{id}.html"] = made
    for path, text in pages.items():
        write_whole(path, text)
    return list(pages)


def page_in_child(page: Callable[[Iterable[Grade]], str], grades: Iterable[Grade]) -> str:
    """A page with answers, made in a child process with limits; without them if highlighting them exceeds these."""
    try:
        return in_child(Allowance(), page, grades)
    except Exceeded:
        graded = [replace(grade.submission.graded, answers=()) for grade in grades]
        bare = [replace(one.submission, graded=each) for one, each in zip(grades, graded, strict=True)]
        return page([replace(one, submission=each) for one, each in zip(grades, bare, strict=True)])


def student_files(classroom: Classroom, out: Path) -> dict[str, Path]:
    """Student → the file of the report."""
    stems = file_stems(grade.name for grade in classroom.grades)
    return {name: out / "students" / f"{stem}.html" for name, stem in stems.items()}


def class_page(classroom: Classroom, stems: Mapping[str, str], links: Iterable[str] = ()) -> str:
    shares = [grade.points / grade.max_points for grade in classroom.graded if grade.max_points]
    return render(
        "class.html",
        classroom=classroom,
        stems=stems,
        links=tuple(links),
        median=median(shares) if shares else 0,
        rows=[row for id in classroom.exercises for row in exercise_rows(classroom, id)],
        mistakes=mistakes(classroom)[:COMMONEST],
        board=board(classroom),
        titles={name: title(name) for name in classroom.notebooks},
    )


def exercise_page(grades: Iterable[Grade], id: str, stems: Mapping[str, str]) -> str:
    """All students' answers to an exercise, by verdict, then by message."""
    answers = [
        (grade, one, dict(grade.submission.graded.answers).get(id, ""))
        for grade in grades
        for one in grade.judged
        if one.outcome.id == id and not grade.failed
    ]
    order = {state: n for n, state in enumerate(WORDS)}
    answers.sort(key=lambda each: (order[state_of(each[1])], -each[1].points, each[1].outcome.message))
    return render("exercise.html", exercise=find(id), answers=answers, stems=stems)


def student_page(grades: Iterable[Grade], notebooks: Iterable[str]) -> str:
    """The page of the one student."""
    (grade,) = grades
    kernels = list(timed_kernels(grade))
    return render(
        "student.html",
        grade=grade,
        notebooks=notebooks,
        titles={name: title(name) for name in notebooks},
        answers=dict(grade.submission.graded.answers),
        following=following(grade),
        kernels=kernels,
        roofline=roofline_svg(grade, kernels),
    )


def exercise_rows(classroom: Classroom, id: str) -> Iterator[dict[str, Any]]:
    """How an exercise went: the share of its points that the class got, how many students got which status.

    times: seconds to solve it, of those to whom it gave all that it could.
    """
    graded = [(grade, one) for grade in classroom.graded for one in grade.judged if one.outcome.id == id]
    judged = [one for _, one in graded]
    solved = [dict(grade.submission.graded.times) for grade, one in graded if one.outcome.points == one.counts]
    most = sum(one.counts for one in judged)
    statuses = Counter(map(state_of, judged))
    yield {
        "exercise": find(id),
        "share": sum(one.outcome.points for one in judged) / most if most else None,
        "statuses": {status: statuses[status] for status in WORDS if statuses[status]},
        "times": [times[id] for times in solved if id in times],
    }


def mistakes(classroom: Classroom) -> list[CommonMistake]:
    """What answers were told that lost points, the commonest first."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for grade in classroom.graded:
        for one in lost(grade):
            if state_of(one) != "unwritten":
                first_lines = "\n".join(one.outcome.message.split("\n")[:2])
                groups[one.outcome.id, re.sub(r"\d+", "#", first_lines)].append((grade.name, one.outcome.message))
    found = [
        CommonMistake(find(id), told[0][1], tuple(student for student, _ in told)) for (id, _), told in groups.items()
    ]
    return sorted(found, key=lambda one: -len(one.students))


def lost(grade: Grade) -> list[Judged]:
    """The exercises that gave less than they could."""
    return [one for one in grade.judged if one.outcome.points < one.counts]


def following(grade: Grade) -> list[dict[str, str]]:
    """What to look at next: the first exercises with points to gain, what went wrong there, and a remedy or hint."""
    chosen = sorted(lost(grade), key=lambda one: state_of(one) == "unwritten")[:NEXT]
    steps = []
    for one in chosen:
        exercise, outcome = find(one.outcome.id), one.outcome
        remedy = outcome.remedy or (exercise.hints[0] if exercise.hints else "")
        steps.append({"id": exercise.id, "title": exercise.title, "says": outcome.message, "remedy": remedy})
    return steps


def timed_kernels(grade: Grade) -> Iterator[TimedKernel]:
    """The student's kernels that were timed, in the course's order."""
    for one in grade.judged:
        if one.outcome.measurement:
            yield TimedKernel(grade.name, find(one.outcome.id), Measurement.from_json(one.outcome.measurement))


def board(classroom: Classroom) -> tuple[list[Exercise], list[tuple[str, dict[str, TimedKernel]]]]:
    """The exercises that were timed, and each student's kernels by exercise, the fastest student first."""
    kernels = {grade.name: {one.exercise.id: one for one in timed_kernels(grade)} for grade in classroom.grades}
    exercises = [find(id) for id in classroom.exercises if any(id in found for found in kernels.values())]
    rows = [(student, found) for student, found in kernels.items() if found]
    return exercises, sorted(rows, key=lambda row: -sum(one.measured.ratio for one in row[1].values()))


def roofline_svg(grade: Grade, kernels: Iterable[TimedKernel]) -> str:
    """The kernels that count FLOP under their GPU's roofs, as SVG; "" where nothing can be drawn."""
    hardware = hardware_of(grade.submission.graded.gpu)
    chosen = {
        f"{one.exercise.id} {one.exercise.title}": (one.measured, one.exercise.problem)
        for one in kernels
        if isinstance(one.exercise, KernelExercise) and one.measured.tflops
    }
    if hardware is None or not chosen:
        return ""
    from tutorlib.figures.own_roofline import own_roofline

    drawn = io.StringIO()
    own_roofline(chosen, hardware).savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue().partition("<svg")[1] + drawn.getvalue().partition("<svg")[2]
