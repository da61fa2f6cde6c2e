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
from tutorlib.classroom.gradebook import Gradebook, GradebookFailed, Submission
from tutorlib.classroom.hand_in_files import UNPACKING, Entry, HandInReader, Unreadable, lines_about
from tutorlib.classroom.handed_in import HandedIn, place_beside
from tutorlib.classroom.pool import Lane, graded_here
from tutorlib.classroom.task import Graded, Needing, Settings, Task
from tutorlib.grading.limited_process import Exceeded, in_child
from tutorlib.grading.local_modules import LARGEST_MODULE, Modules
from tutorlib.machine import device
from tutorlib.paths import ROOT, SOLUTIONS

LARGEST_HAND_IN = 2**27  # bytes of one student's notebooks
MOST_NOTEBOOKS = 300  # that one student's newest answers are looked for in
NOT_GRADING = ("classroom", "draw", "explorers", "figures")  # folders of the package that decide no points


class AtWork(Exception):
    """Another `tutor class` writes to the same folder. One line."""


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


@dataclass(frozen=True)
class Files:
    """A student's files as they are now: notebooks and modules. content: their hash, with what grades them."""

    content: str
    read: tuple[tuple[str, bytes], ...] = ()
    notes: tuple[str, ...] = ()
    modules: Modules = ()


def grade_new(run: Run, book: Gradebook, started: Callable[[int], None], done: Callable[[str], None]) -> None:
    """Grade every submission that the gradebook does not have as it is now, and write each as soon as it is done.

    started: called with the number of submissions that are to be graded. done: with the student of each.
    Raises GradebookFailed, MachineFailed.
    """
    book.forget(run.again)
    version, seed = course_version(), run.settings.seed
    known = book.submissions()
    todo = {}
    for student in run.students:
        content = files_of(student, version, with_bytes=False).content
        before = known.get(student.student)
        if not (before and before.answers(content, run.wanted, seed)):
            todo[student.student] = student
    started(len(todo))
    if not todo:
        return
    seeds = {student: new_seed() if seed is None else seed for student in todo}
    settings = {student: replace(run.settings, seed=seeds[student]) for student in todo}
    contents: dict[str, Files] = {}

    def tasks(share: Needing) -> Iterator[Task]:
        for name, student in todo.items():
            files = files_of(student, version)
            contents[name] = replace(files, read=(), modules=())
            yield Task(name, files.read, run.wanted, settings[name], share, files.modules)

    waiting: dict[str, dict[str, Graded]] = {}
    shares: tuple[Needing, ...] = ("cpu", "gpu") if device.gpu() or run.ray else ("all",)
    for task, graded in graded_by(run, {share: tasks(share) for share in shares}):
        name = task.student
        waiting.setdefault(name, {})[task.share] = graded
        if len(waiting[name]) < len(shares):
            continue
        first, *rest = (waiting[name][share] for share in shares)
        graded = sum(rest, first)
        files = contents[name]
        graded = replace(graded, notes=tuple(dict.fromkeys((*todo[name].notes, *files.notes, *graded.notes))))
        utc = datetime.now(UTC).isoformat("T", "seconds")
        book.put(Submission(name, files.content, run.wanted, seeds[name], utc, graded))
        del waiting[name], contents[name]
        done(name)


def graded_by(run: Run, tasks: dict[Needing, Iterator[Task]]) -> Iterator[tuple[Task, Graded]]:
    """The tasks as they are done: by processes here, or by Ray's. What needs a GPU has one to itself."""
    if run.ray:
        from tutorlib.classroom.on_ray import graded_on_ray

        return graded_on_ray(run.ray, tasks)
    if "all" in tasks:
        return graded_here([Lane(tasks["all"], [{}] * run.workers)])
    import torch

    gpus = [{"CUDA_VISIBLE_DEVICES": name} for name in visible_gpus(torch.cuda.device_count())]
    return graded_here([Lane(tasks["gpu"], gpus), Lane(tasks["cpu"], [{"CUDA_VISIBLE_DEVICES": ""}] * run.workers)])


def visible_gpus(count: int) -> list[str]:
    """How CUDA_VISIBLE_DEVICES names each of this process's GPUs."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",")[:count] if named else [str(n) for n in range(count)]


def files_of(student: HandedIn, version: str, with_bytes: bool = True) -> Files:
    """A student's files, read in a child process with limits."""
    try:
        return in_child(UNPACKING, lambda: files_here(student, version, with_bytes))
    except Exceeded as error:
        seen = [(entry.label, entry.modified) for entry in (*student.notebooks, *student.modules)]
        content = hashlib.sha256(f"{version} {seen}".encode()).hexdigest()
        return Files(content, notes=(f"None of the files is read: unpacking them {error}.",))


def files_here(student: HandedIn, version: str, with_bytes: bool) -> Files:
    """A student's files, read in this process; without their bytes, what is known of them all the same."""
    notes: list[str] = []
    reader = HandInReader()
    read = notebooks_of(student, reader, notes.append)
    modules = modules_of(student, reader, notes.append)
    hashed = hashlib.sha256(version.encode())
    for label, content in (*read, *modules):
        hashed.update(f"{len(label)} {label} {len(content)} ".encode() + content)
    files = Files(hashed.hexdigest(), tuple(read), tuple(notes), modules)
    return files if with_bytes else replace(files, read=(), modules=())


def notebooks_of(student: HandedIn, reader: HandInReader, say: Callable[[str], None]) -> list[tuple[str, bytes]]:
    """The newest of a student's notebooks, the oldest of them first."""
    read: list[tuple[str, bytes]] = []
    unreadable: list[tuple[Entry, str]] = []
    room = LARGEST_HAND_IN
    for entry in reversed(student.notebooks):
        try:
            content = reader.read(entry.path, entry.members)
        except Unreadable as error:
            unreadable.append((entry, str(error)))
            continue
        room -= len(content)
        if room <= 0 or len(read) == MOST_NOTEBOOKS:
            most = f"{MOST_NOTEBOOKS} notebooks" if room > 0 else f"{LARGEST_HAND_IN // 2**20} MB"
            say(f"{entry.label}: it and all that is older are left out: more than {most} were handed in.")
            break
        read.append((entry.label, content))
    for line in lines_about(unreadable):
        say(line)
    return read[::-1]


def modules_of(student: HandedIn, reader: HandInReader, say: Callable[[str], None]) -> Modules:
    """A student's Python files, where there is a notebook that may import them."""
    read = []
    for entry in student.modules if student.notebooks else ():
        try:
            read.append((place_beside(entry), reader.read(entry.path, entry.members, LARGEST_MODULE)))
        except Unreadable as error:
            say(f"{entry.label}: {error}.")
    return tuple(read)


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
    """Makes the folder, and keeps other runs out of it. Raises AtWork, GradebookFailed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    except OSError as error:
        raise GradebookFailed(f"{out}: cannot be made: {error.strerror}.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise AtWork(f"{out}: another `tutor class` is at work there; wait for it, or end it.") from None
    finally:
        os.close(lock)
