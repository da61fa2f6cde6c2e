"""The tasks of a class on Ray: one CPU for each, and one GPU for each that is timed; Ray decides where."""

import signal
from collections.abc import Iterator, Mapping
from typing import Any

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.task import ENDED, Graded, Needing, Task, grade_task

LOCAL = "local"
MISSING = "--ray needs Ray: pip install '.[ray]'"
AHEAD = 2  # tasks that Ray has for each CPU or GPU, so that none waits for this process


def graded_on_ray(address: str, tasks: Mapping[Needing, Iterator[Task]]) -> Iterator[tuple[Task, Graded]]:
    """Each task with what came of it, as they are done. A worker that dies gives its task back, once.

    address: of a cluster, or "local" for one of this machine alone. On each of its machines the course is installed.
    Raises CannotGrade, also where Ray is missing or cannot be reached.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise CannotGrade(MISSING) from None
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            None if address == LOCAL else address, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
    except Exception as error:  # Ray raises many kinds
        raise CannotGrade(f"--ray {address}: {error}") from None
    except BaseException:  # a signal, while half of it is there
        ray.shutdown()
        raise
    signal.signal(signal.SIGTERM, on_sigterm)  # Ray's own prints a trace and aborts
    try:
        yield from gathered(ray, tasks)
    finally:
        ray.shutdown()


def gathered(ray: Any, tasks: Mapping[Needing, Iterator[Task]]) -> Iterator[tuple[Task, Graded]]:
    """Hands the tasks to Ray, a few ahead of what it can do at a time, and takes back what is done."""
    there = ray.cluster_resources()
    cpus, gpus = int(there.get("CPU", 1)), int(there.get("GPU", 0))
    room = {"cpu": AHEAD * cpus, "gpu": AHEAD * (gpus or cpus)}
    remote = {
        "cpu": ray.remote(num_cpus=1, max_retries=0)(graded_bytes),
        "gpu": ray.remote(num_cpus=1, num_gpus=min(1, gpus), max_retries=0)(graded_bytes),
    }
    running: dict[Any, Task] = {}
    died: set[tuple[str, str]] = set()
    while True:
        for share, left in tasks.items():
            while sum(task.share == share for task in running.values()) < room[share] and (task := next(left, None)):
                running[remote[share].remote(task)] = task
        if not running:
            return
        for done in ray.wait(list(running))[0]:
            task = running.pop(done)
            try:
                yield task, Graded.loads(ray.get(done))
            except ray.exceptions.RayTaskError as error:
                raise CannotGrade(str(error.cause)) from None
            except ray.exceptions.RayError as error:
                if (task.student, task.share) in died:
                    yield task, Graded(failed=f"{ENDED}: its worker died, twice: {type(error).__name__}")
                else:
                    died.add((task.student, task.share))
                    running[remote[task.share].remote(task)] = task


def graded_bytes(task: Task) -> bytes:
    return grade_task(task).dumps()
