"""The tasks of a class on Ray: one CPU for each, and one GPU if the cluster has any; Ray decides where."""

import signal
from collections.abc import Iterator
from typing import Any

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.task import ENDED, Graded, Task, grade_task

LOCAL = "local"
MISSING = "--ray needs Ray: pip install '.[ray]'"
AHEAD = 2  # tasks that Ray has for each CPU or GPU, so that none waits for this process


def graded_on_ray(address: str, tasks: Iterator[Task]) -> Iterator[tuple[Task, Graded]]:
    """Each task with its result, as they are done. The task of a worker that dies is repeated once.

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


def gathered(ray: Any, tasks: Iterator[Task]) -> Iterator[tuple[Task, Graded]]:
    """Submit a few more tasks than the cluster can do at a time, and take back each result."""
    there = ray.cluster_resources()
    cpus, gpus = int(there.get("CPU", 1)), int(there.get("GPU", 0))
    remote = ray.remote(num_cpus=1, num_gpus=min(1, gpus), max_retries=0)(graded_bytes)
    running: dict[Any, Task] = {}
    died: set[str] = set()
    while True:
        while len(running) < AHEAD * (gpus or cpus) and (task := next(tasks, None)):
            running[remote.remote(task)] = task
        if not running:
            return
        for done in ray.wait(list(running))[0]:
            task = running.pop(done)
            try:
                yield task, Graded.loads(ray.get(done))
            except ray.exceptions.RayTaskError as error:
                raise CannotGrade(str(error.cause)) from None
            except ray.exceptions.RayError as error:
                if task.student in died:
                    yield task, Graded(failed=f"{ENDED}: its worker died, twice: {type(error).__name__}")
                else:
                    died.add(task.student)
                    running[remote.remote(task)] = task


def graded_bytes(task: Task) -> bytes:
    return grade_task(task).dumps()
