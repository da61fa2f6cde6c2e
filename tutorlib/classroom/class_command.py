"""`tutor class`: grades a folder of hand-ins into a folder of results."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from tutorlib.classroom import CannotGrade, exports, reports, similar_answers
from tutorlib.classroom.adjustments import prepared
from tutorlib.classroom.class_run import Run, grade_new
from tutorlib.classroom.gradebook import Gradebook
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.hand_ins import handed_in
from tutorlib.grading import sandbox
from tutorlib.grading.judge_process import Settings
from tutorlib.problems.differences import count


def grade_folder(
    folder: Path,
    out: Path,
    settings: Settings,
    wanted: tuple[str, ...] | None,
    workers: int,
    ray: str | None,
    console: Console,
) -> tuple[list[str], str, bool]:
    """Grade what is new below `folder` into the gradebook in `out`, then write everything that is made of it.

    Returns lines that an instructor must read, a line that says where the results are, and whether any grading did not
    finish. The instructor's files are in `out`.
    Raises CannotGrade; what the gradebook has then stays, and the next run goes on from there.
    """
    if settings.sandboxed and (why := sandbox.why_open()):
        raise CannotGrade(f"{why}, or grade students' code without a sandbox: --no-sandbox.")
    students, stray = handed_in(folder.resolve(), without=out.resolve())
    book = Gradebook(out / "gradebook")
    class_, adjustments, lines = prepared(students, out)
    grade_new(Run(students, settings, wanted, workers, ray), book, console)
    submissions = book.submissions()
    there = {student.student: submissions[student.student] for student in students}
    classroom = grades_of(class_, there, wanted, (*stray, *lines), adjustments)
    try:
        written = write_results(classroom, out)
    except OSError as error:
        raise CannotGrade(
            f"{error.filename or out}: {error.strerror}. The gradebook is whole; run this again."
        ) from None
    gone = sorted(submissions.keys() - there.keys())
    results = f"{count(len(classroom.grades), 'student')}: {out / 'index.html'}, gradebook, {len(written)} files"
    return [*lines_of(classroom, gone)], results, bool(classroom.failed)


def write_results(classroom: Classroom, out: Path) -> list[Path]:
    """Write the pages, the tables and the zips. Raises OSError."""
    similar = similar_answers.write_similar(classroom, out)
    written = [similar, *reports.write_reports(classroom, out, [similar]), *exports.write_all(classroom, out)]
    return written + exports.write_feedback(classroom, out)


def lines_of(classroom: Classroom, gone: list[str]) -> Iterator[str]:
    """Lines that an instructor must read."""
    yield from classroom.stray
    for grade in classroom.grades:
        yield from (f"{grade.name}: {line}" for line in grade.notes)
    for grade in classroom.failed:
        yield f"{grade.name}: {grade.failed}. Exported without a grade; run this again to grade it again."
    if gone:
        yield f"In the gradebook, and not in the folder any more: {', '.join(gone)}."
