"""Grades one student's hand-in, here or on a worker of Ray's. The task and its result are plain data."""

import errno
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tutorlib.classroom.gradebook import Graded, Judged
from tutorlib.grading.grade import Settings, at_a_time, grade_submission
from tutorlib.grading.scores import points_possible
from tutorlib.grading.submission import Submitted, newest, read_each
from tutorlib.machine import device

ENDED = "ended the grader"
LEAST_FREE = 2**26  # bytes of the temporary folder's disk
LONGEST_ANSWER = 2**14  # characters of an answer that are kept: more than three times the longest solution,
MOST_ANSWERS = 2**18  # and of all answers of one task: as much as all solutions, more than three times


@dataclass(frozen=True)
class Task:
    """A student's submission to grade.

    files: where each is found and what it holds, the oldest first. wanted: the only notebooks to grade; None: all.
    """

    student: str
    files: tuple[tuple[str, bytes], ...]
    wanted: tuple[str, ...] | None
    settings: Settings


async def grade_task(task: Task, variables: Mapping[str, str]) -> Graded:
    """Grade a student's files with these variables of the environment. Raises OSError, as of a full disk.

    With a GPU, which this task has to itself, its notebooks are graded side by side; else in turn, since each core has
    a task of its own.
    """
    start = time.monotonic()
    notes: list[str] = []
    submission = read_files(task, notes.append)
    settings = replace(task.settings, variables=variables)
    scores = await grade_submission(submission, settings, at_a_time() if device.gpu() else 1)
    judged = tuple(Judged(outcome, points_possible(outcome)) for outcome in scores.outcomes)
    notebooks = tuple((submitted.name, str(submitted.path)) for submitted in submission)
    failed = next((f"{ENDED}: {why}" for why in scores.broken.values()), "")
    check_room()  # on a full disk answers fail that are right
    return Graded(judged, notebooks, tuple(notes), time.monotonic() - start, failed, tuple(answer_texts(submission)))


def check_room() -> None:
    """Raises OSError where the disk of the temporary folder is full, or nearly so."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < LEAST_FREE:
        why = f"less than {LEAST_FREE // 2**20} MB are free; let TMPDIR name a folder on a disk with more room"
        raise OSError(errno.ENOSPC, why, folder)


def read_files(task: Task, say: Callable[[str], None]) -> list[Submitted]:
    """The notebooks that the files answer, one for each, in the course's order; lines about others."""
    read = newest(read_each(((Path(label), content) for label, content in task.files), say), say)
    wanted = (submitted for submitted in read if task.wanted is None or submitted.name in task.wanted)
    return sorted(wanted, key=lambda submitted: submitted.name)


def answer_texts(submission: Iterable[Submitted]) -> Iterator[tuple[str, str]]:
    """Each exercise and the text of its answer. Of several cells each text once, without those still to be written."""
    room = MOST_ANSWERS
    for exercise, texts in (pair for submitted in submission for pair in submitted.answers.items()):
        written = [text for text in texts if f'"Exercise {exercise}"' not in text] or texts[:1]
        text = "\n".join(dict.fromkeys(written))[: min(LONGEST_ANSWER, room)]
        room -= len(text)
        yield exercise, text.encode("utf-8", "replace").decode()  # a notebook's JSON can hold half of a pair
