"""The instructor's files: a roster, rules about lateness, corrections.

The gradebook keeps each of them; it applies in every run until the instructor gives another of its kind.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tutorlib.classroom.corrections import Correction, read_corrections
from tutorlib.classroom.gradebook import Gradebook
from tutorlib.classroom.grades import Adjustments, Classroom
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.late_rules import Rules, extension_of, read_rules, time_in
from tutorlib.classroom.roster import Directory, Enrolled, directory_of, enrolled, read_roster
from tutorlib.classroom.tables import read_text
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names

NONE = "none"  # in place of a file's name: the stored file no longer applies


@dataclass(frozen=True)
class InstructorFiles:
    """The files on this run's command line: paths, or "none"; no path if the stored file still applies."""

    roster: Sequence[str] = ()
    rules: Sequence[str] = ()
    corrections: Sequence[str] = ()


@dataclass(frozen=True)
class Prepared:
    """A class before it is graded.

    directory: its students by id and name. lines: what an instructor must hear of. kept: a line about files that were
    given before, or "".
    """

    students: list[Enrolled]
    directory: Directory[Enrolled]
    adjustments: Adjustments
    lines: list[str]
    kept: str


def prepared(students: list[HandedIn], files: InstructorFiles, book: Gradebook) -> Prepared:
    """The class by its roster, and what comes on top of its points. Raises BadTable, GradebookFailed.

    The gradebook keeps the files as soon as all of them can be read.
    """
    typed: dict[str, Sequence[str]] = vars(files)
    texts = {kind: texts_of(named) if named else book.files(kind) for kind, named in typed.items()}
    class_, lines = enrolled(students, [read_roster(*one) for one in texts["roster"]])
    directory = directory_of(class_)

    rules = next((read_rules(*one) for one in texts["rules"]), Rules())
    for student in class_:
        extension_of(student, rules.time_zone)  # to hear of a bad one before anything is graded

    corrections: dict[str, dict[str, tuple[Correction, ...]]] = {}
    exercises = [exercise.id for name in notebook_names() for exercise in of_notebook(name)]
    for one in texts["corrections"]:
        lines += read_corrections(*one, directory, exercises, corrections)

    for kind, given in texts.items():
        if typed[kind]:
            book.keep_files(kind, given)
    names = ", ".join(f"--{kind} {file}" for kind in typed if not typed[kind] for _, file in texts[kind])
    kept = f"Used again, as in an earlier run: {names}. With `none` in place of the file it is not." if names else ""
    return Prepared(class_, directory, Adjustments(rules, corrections), lines, kept)


def texts_of(files: Iterable[str]) -> list[tuple[str, str]]:
    """Text and name of each of these files, "none" left out. Raises BadTable."""
    return [(read_text(Path(file)), Path(file).name) for file in files if file != NONE]


def remarks(classroom: Classroom, adjustments: Adjustments) -> Iterator[str]:
    """Lines about corrections and times that could not be used."""
    yield from unused(classroom, adjustments)
    if unknown := [grade.name for grade in classroom.grades if grade.unknown_time]:
        yield (
            f"When these handed in is unknown, and they count as on time: {', '.join(unknown)}. The files in Moodle's "
            "zip have the time of its download, and Canvas's mark ignores the roster's extensions: give Moodle's "
            "grading worksheet as --roster, or add the column `handed in` to it."
        )
    rules = adjustments.rules
    for grade in classroom.grades if rules.due or rules.dues else ():
        if (one := grade.listed) and len(one.handed_in) > 1 and not time_in(one.handed_in, rules.time_zone):
            yield f"{one.place}: {one.handed_in!r} is no time in English; export the worksheet in English."
            break  # the others are alike


def unused(classroom: Classroom, adjustments: Adjustments) -> Iterator[str]:
    """A line for each correction of an exercise that is not among those that were asked for."""
    graded = set(classroom.exercises)
    for of_student in adjustments.corrections.values():
        for id, ones in of_student.items():
            if id and id not in graded:
                yield from (f"{one.place}: {id} was not asked for; this correction is not applied." for one in ones)
