"""Grades one student's hand-in in a worker. The task and its result are plain data."""

import errno
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tutorlib.checking.exercise import Outcome
from tutorlib.grading.all_notebooks import grade
from tutorlib.grading.grading_run import Limits
from tutorlib.grading.scores import points_possible
from tutorlib.grading.submission import Submitted, newest, read_content, read_each
from tutorlib.machine import device

ENDED = "ended the grader"
LEAST_FREE = 2**26  # bytes of the temporary folder's disk
LONGEST_ANSWER = 2**14  # characters of an answer that are kept: more than three times the longest solution,
MOST_ANSWERS = 2**18  # and of all answers of one task: as much as all solutions, more than three times


@dataclass(frozen=True)
class Settings:
    """The settings of a class. seconds: a cell's time limit. seed: of all random inputs; None: a new one each time."""

    seconds: float = 60.0
    sandboxed: bool = True
    seed: int | None = None


@dataclass(frozen=True)
class Task:
    """A student's submission to grade.

    files: where each is found and what it holds, the oldest first. wanted: the only notebooks to grade; None: all.
    """

    student: str
    files: tuple[tuple[str, bytes], ...]
    wanted: tuple[str, ...] | None
    settings: Settings


@dataclass(frozen=True)
class Judged:
    """One exercise's outcome. counts: how many points it could give on the machine that graded it."""

    outcome: Outcome
    counts: float


@dataclass(frozen=True)
class Graded:
    """The result of a task.

    notebooks: (name, file) of each graded notebook. notes: lines about other files. failed: why the grader itself
    ended, or "". seconds: the time that it took. answers: (exercise, text of its answer as it was handed in).
    """

    judged: tuple[Judged, ...] = ()
    notebooks: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    failed: str = ""
    answers: tuple[tuple[str, str], ...] = ()

    def dumps(self) -> bytes:
        judged = [{**asdict(verdict.outcome), "counts": verdict.counts} for verdict in self.judged]
        return json.dumps({**asdict(self), "judged": judged}).encode()

    @classmethod
    def loads(cls, text: bytes) -> "Graded":
        data: dict[str, Any] = json.loads(text)
        judged = tuple(
            Judged(Outcome(**verdict), counts) for verdict in data["judged"] for counts in [verdict.pop("counts")]
        )
        pairs = {name: tuple((key, value) for key, value in data[name]) for name in ("notebooks", "answers")}
        return cls(**data | pairs | {"judged": judged, "notes": tuple(data["notes"])})


def grade_task(task: Task) -> Graded:
    """Grade a student's files, one notebook after the other. Raises OSError, as of a full disk."""
    start = time.monotonic()
    notes: list[str] = []
    contents = read_files(task, notes.append)
    outcomes, failed = grade_all([*contents], task)
    judged = tuple(Judged(outcome, points_possible(outcome)) for outcome in outcomes)
    notebooks = tuple((submitted.name, str(submitted.path)) for submitted in contents)
    seconds = time.monotonic() - start
    answers = tuple(answer_texts(contents))
    check_room()  # on a full disk answers fail that are right
    return Graded(judged, notebooks, tuple(notes), seconds, failed, answers)


def check_room() -> None:
    """Raises OSError where the disk of the temporary folder is full, or nearly so."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < LEAST_FREE:
        why = f"less than {LEAST_FREE // 2**20} MB are free; let TMPDIR name a folder on a disk with more room"
        raise OSError(errno.ENOSPC, why, folder)


def read_files(task: Task, say: Callable[[str], None]) -> dict[Submitted, bytes]:
    """The notebooks that the files answer, one for each, in the course's order, and their files; lines about others."""
    contents: dict[Submitted, bytes] = {}
    reading = ((Path(label), partial(read_content, content=content)) for label, content in task.files)
    for submitted, (_, content) in zip(read_each(reading, say), task.files, strict=True):
        if submitted:
            contents[submitted] = content
    wanted = [submitted for submitted in newest(contents, say) if task.wanted is None or submitted.name in task.wanted]
    return {submitted: contents[submitted] for submitted in sorted(wanted, key=lambda submitted: submitted.name)}


def grade_all(submission: list[Submitted], task: Task) -> tuple[tuple[Outcome, ...], str]:
    """The outcomes of its notebooks, and why one ended the grader, else "".

    With a GPU, which this task has to itself, its notebooks are graded side by side; else in turn, since each core has
    a task of its own.
    """
    settings, workers = task.settings, None if device.gpu() else 1
    limits = Limits(seconds=settings.seconds)
    scores = grade(submission, limits, seed=settings.seed, sandboxed=settings.sandboxed, workers=workers)
    return scores.outcomes, next((f"{ENDED}: {why}" for why in scores.broken.values()), "")


def answer_texts(submission: Iterable[Submitted]) -> Iterator[tuple[str, str]]:
    """Each exercise and the text of its answer. Of several cells each text once, without those still to be written."""
    room = MOST_ANSWERS
    for exercise, texts in (pair for submitted in submission for pair in submitted.answers.items()):
        written = [text for text in texts if f'"Exercise {exercise}"' not in text] or texts[:1]
        text = "\n".join(dict.fromkeys(written))[: min(LONGEST_ANSWER, room)]
        room -= len(text)
        yield exercise, text.encode("utf-8", "replace").decode()  # a notebook's JSON can hold half of a pair
