"""Grading a class into its gradebook: submissions that are new or changed; the others stay.

On this machine, one process starts the judges of several students at a time, each of which the system kills when it
ends. On Ray, each student is a task: one CPU for each, and one GPU if the cluster has any; Ray decides where.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tutorlib.checking.randomness import new_seed
from tutorlib.classroom import CannotGrade
from tutorlib.classroom.gradebook import Gradebook, Graded, Judged, Submission
from tutorlib.classroom.hand_ins import Files, HandedIn, files_of
from tutorlib.grading.grade import at_a_time, grade_submission
from tutorlib.grading.judge_process import Settings
from tutorlib.grading.merged_page import merged_page
from tutorlib.grading.scores import points_possible, progress
from tutorlib.grading.submission import Submitted, newest, read_each
from tutorlib.machine import device
from tutorlib.paths import ROOT, SOLUTIONS

NOT_GRADING = ("classroom", "draw", "explorers", "figures")  # folders of the package that decide no points
ENDED = "ended the grader"
LONGEST_ANSWER = 2**14  # characters of an answer that are kept: more than three times the longest solution
LOCAL = "local"
RAY_MISSING = "--ray needs Ray: pip install '.[ray]'"
AHEAD = 2  # tasks that Ray has for each CPU or GPU, so that none waits for this process


# One student ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A student's submission to grade. content: `content_hash` of the files. wanted: see `Run`."""

    student: str
    files: Files
    content: str
    wanted: tuple[str, ...] | None
    settings: Settings


async def grade_task(task: Task, variables: Mapping[str, str]) -> Graded:
    """Grade a student's files with these variables of the environment. Raises OSError, as of a full disk.

    With a GPU, which this task has to itself, its notebooks are graded side by side; else in turn, since each core has
    a task of its own.
    """
    start = time.monotonic()
    notes = [*task.files.notes]
    files = ((Path(label), content) for label, content in task.files.notebooks)
    read = newest(read_each(files, notes.append), notes.append)
    asked = [submitted for submitted in read if task.wanted is None or submitted.name in task.wanted]
    submission = sorted(asked, key=lambda submitted: submitted.name)
    settings = replace(task.settings, variables=variables)
    scores = await grade_submission(submission, settings, at_a_time() if device.gpu() else 1)
    judged = tuple(Judged(outcome, points_possible(outcome)) for outcome in scores.outcomes)
    notebooks = tuple((submitted.name, str(submitted.path)) for submitted in submission)
    failed = next((f"{ENDED}: {why}" for why in scores.broken.values()), "")
    seconds, answers = time.monotonic() - start, tuple(answer_texts(submission))
    return Graded(judged, notebooks, tuple(dict.fromkeys(notes)), seconds, failed, answers)


def answer_texts(submission: Iterable[Submitted]) -> Iterator[tuple[str, str]]:
    """Each exercise and the text of its answer, as it is graded; without those that are not written."""
    for submitted in submission:
        for exercise, text in merged_page(submitted).answers.items():
            yield exercise, text[:LONGEST_ANSWER].encode("utf-8", "replace").decode()  # JSON can hold half of a pair


# The class -----------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """A class to grade.

    wanted: the notebooks that were asked for; None: all that were handed in.
    workers: students graded at a time on this machine. ray: the address of a cluster; "local": on this machine.
    """

    students: list[HandedIn]
    settings: Settings
    wanted: tuple[str, ...] | None = None
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    ray: str | None = None


def grade_new(run: Run, book: Gradebook, console: Console) -> None:
    """Grade every submission that the gradebook does not have as it is now, and write each as soon as it is done.

    console: shows the progress. Raises CannotGrade.
    """
    version, known = course_version(), book.submissions()

    def tasks() -> Iterator[Task]:
        for student in run.students:
            name, files, seed = student.student, files_of(student), run.settings.seed
            content = content_hash(files, version)
            if name in known and known[name].answers(content, run.wanted, seed):
                done()
            else:
                settings = replace(run.settings, seed=new_seed() if seed is None else seed)
                yield Task(name, files, content, run.wanted, settings)

    def keep(task: Task, graded: Graded) -> None:
        utc = datetime.now(UTC).isoformat("T", "seconds")
        book.put(Submission(task.student, task.content, task.wanted, task.settings.seed, utc, graded))
        done()

    with progress(console, "submissions", len(run.students)) as done:
        if run.ray:
            grade_on_ray(run.ray, tasks(), keep)
        else:
            variables = [{"CUDA_VISIBLE_DEVICES": name} for name in visible_gpus()] or [{}] * run.workers
            grade_here(tasks(), variables, keep)


def grade_here(
    tasks: Iterator[Task], variables: Sequence[dict[str, str]], keep: Callable[[Task, Graded], None]
) -> None:
    """Grade the tasks on this machine. With GPUs, each task has a GPU to itself. Raises CannotGrade.

    variables: of the environment, for each of the tasks that are graded at a time.
    """

    async def work(own: dict[str, str]) -> None:
        for task in tasks:  # all take from the same iterator
            keep(task, await grade_task(task, own))

    async def everything() -> None:
        await asyncio.gather(*map(work, variables))

    try:
        asyncio.run(everything())
    except OSError as error:
        raise CannotGrade(f"{error.filename or 'this machine'}: {error.strerror}") from None


def visible_gpus() -> list[str]:
    """The names of this process's GPUs in CUDA_VISIBLE_DEVICES; none without a GPU that torch can use."""
    if not device.gpu():
        return []
    import torch

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return named.split(",")[: torch.cuda.device_count()] if named else [*map(str, range(torch.cuda.device_count()))]


def grade_on_ray(address: str, tasks: Iterator[Task], keep: Callable[[Task, Graded], None]) -> None:
    """Grade the tasks on a cluster, or on "local", this machine alone. The course is installed on each machine.

    A few more are submitted than the cluster can do at a time. The task of a worker that dies is repeated once.
    Raises CannotGrade, also where Ray is missing or cannot be reached.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise CannotGrade(RAY_MISSING) from None
    try:
        ray.init(None if address == LOCAL else address, include_dashboard=False, log_to_driver=False)
    except Exception as error:  # Ray raises many kinds
        raise CannotGrade(f"--ray {address}: {error}") from None
    there = ray.cluster_resources()
    cpus, gpus = int(there.get("CPU", 1)), int(there.get("GPU", 0))
    remote = ray.remote(num_cpus=1, num_gpus=min(1, gpus), max_retries=1)(graded)
    running: dict[Any, Task] = {}
    try:
        while True:
            while len(running) < AHEAD * (gpus or cpus) and (task := next(tasks, None)):
                running[remote.remote(task)] = task
            if not running:
                return
            for done in ray.wait(list(running))[0]:
                try:
                    found = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise CannotGrade(str(error.cause)) from None
                except ray.exceptions.RayError as error:
                    failed = f"{ENDED}: its worker died, twice: {type(error).__name__}"
                    found = Graded(notes=running[done].files.notes, failed=failed)
                keep(running.pop(done), found)
    finally:
        ray.shutdown()


def graded(task: Task) -> Graded:
    return asyncio.run(grade_task(task, {}))


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
