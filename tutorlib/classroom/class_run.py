"""Grading a class into its gradebook: submissions that are new or changed; the others stay."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tutorlib.checking.randomness import new_seed
from tutorlib.classroom import CannotGrade
from tutorlib.classroom.gradebook import Gradebook, Submission
from tutorlib.classroom.hand_in_files import Files, files_of
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.pool import graded_here
from tutorlib.classroom.task import Graded, Settings, Task
from tutorlib.machine import device
from tutorlib.paths import ROOT, SOLUTIONS

NOT_GRADING = ("classroom", "draw", "explorers", "figures")  # folders of the package that decide no points


@dataclass
class Run:
    """A class to grade.

    wanted: the notebooks that were asked for; None: all that were handed in. again: students to grade anew.
    workers: processes of this machine.
    """

    students: list[HandedIn]
    settings: Settings
    wanted: tuple[str, ...] | None = None
    again: Iterable[str] = ()
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    ray: str | None = None


def grade_new(run: Run, book: Gradebook, started: Callable[[int], None], done: Callable[[str], None]) -> None:
    """Grade every submission that the gradebook does not have as it is now, and write each as soon as it is done.

    started: called with the number of submissions that are to be graded. done: with the student of each.
    Raises CannotGrade.
    """
    book.forget(run.again)
    version, seed = course_version(), run.settings.seed
    known = book.submissions()
    todo = {}
    for student in run.students:
        content = content_hash(files_of(student), version)
        before = known.get(student.student)
        if not (before and before.answers(content, run.wanted, seed)):
            todo[student.student] = student
    started(len(todo))
    if not todo:
        return
    settings = {name: replace(run.settings, seed=new_seed() if seed is None else seed) for name in todo}
    contents: dict[str, tuple[str, tuple[str, ...]]] = {}  # student → hash and lines of the files as they are read now

    def tasks() -> Iterator[Task]:
        for name, student in todo.items():
            files = files_of(student)
            contents[name] = content_hash(files, version), files.notes
            yield Task(name, files.notebooks, run.wanted, settings[name])

    for task, graded in graded_by(run, tasks()):
        name = task.student
        content, notes = contents.pop(name)
        graded = replace(graded, notes=tuple(dict.fromkeys((*notes, *graded.notes))))
        utc = datetime.now(UTC).isoformat("T", "seconds")
        book.put(Submission(name, content, run.wanted, settings[name].seed, utc, graded))
        done(name)


def graded_by(run: Run, tasks: Iterator[Task]) -> Iterator[tuple[Task, Graded]]:
    """The tasks as they are done, by processes of this machine or of Ray. With GPUs, each task has one to itself."""
    if run.ray:
        from tutorlib.classroom.on_ray import graded_on_ray

        return graded_on_ray(run.ray, tasks)
    return graded_here(tasks, [{"CUDA_VISIBLE_DEVICES": name} for name in visible_gpus()] or [{}] * run.workers)


def visible_gpus() -> list[str]:
    """The names of this process's GPUs in CUDA_VISIBLE_DEVICES; none without a GPU that torch can use."""
    if not device.gpu():
        return []
    import torch

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",")[: torch.cuda.device_count()] if named else [*map(str, range(torch.cuda.device_count()))]


def content_hash(files: Files, version: str) -> str:
    """A hash of a student's files and of what grades them."""
    hashed = hashlib.sha256(f"{version} {files.notes}".encode())
    for label, content in files.notebooks:
        hashed.update(f"{len(label)} {label} {len(content)} ".encode() + content)
    return hashed.hexdigest()


def course_version() -> str:
    """A hash of the course, and the GPU that grades it: submissions are graded anew where it changes."""
    package = ROOT / "tutorlib"
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".json", ".cu", ".cpp")]
    files = [path for path in files if path.relative_to(package).parts[0] not in NOT_GRADING]
    hashed = hashlib.sha256()
    for path in sorted([*files, *SOLUTIONS.glob("[0-9][0-9]_*.py")]):
        hashed.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    found = device.gpu()
    return f"{hashed.hexdigest()} {found.name if found else ''}"


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Makes the folder, and keeps other runs out of it. Raises CannotGrade."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    except OSError as error:
        raise CannotGrade(f"{out}: cannot be made: {error.strerror}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CannotGrade(f"{out}: another `tutor class` is at work there; wait for it, or end it.") from None
    finally:
        os.close(lock)
