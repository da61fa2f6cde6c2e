"""Worker processes of this machine: a new one for each task, forked from one that has imported what grading needs.

The task of a worker that dies is repeated once. No worker outlives this process, nor does anything that it started: the
operating system kills each process of the chain (command, fork server, worker, judge, bubblewrap) when its parent ends.
"""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.task import ENDED, Graded, Task, grade_task
from tutorlib.machine.lineage import die_with

ENDING_S = 2.0  # for workers that were killed to be gone
PRELOADED = ["tutorlib.classroom.preloaded"]


@dataclass
class Worker:
    """A process at work on a task, with the environment variables that are set in it."""

    process: ForkServerProcess
    task: Task
    environment: dict[str, str]


def graded_here(tasks: Iterator[Task], workers: Sequence[dict[str, str]]) -> Iterator[tuple[Task, Graded]]:
    """Each task with its result, as they are done. Raises CannotGrade.

    workers: the environment variables of each process that works at a time.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    idle, repeated = deque(workers), deque[Task]()
    running: dict[Connection, Worker] = {}
    died: set[str] = set()
    try:
        while True:
            while idle and (task := repeated.popleft() if repeated else next(tasks, None)):
                environment = idle.popleft()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=serve_task, args=(task, theirs, environment), daemon=False)
                try:
                    process.start()
                except (EOFError, OSError) as error:  # the fork server has ended, as on a full disk
                    raise CannotGrade(f"no worker could be started: {error or 'their server ended'}") from None
                theirs.close()
                running[ours] = Worker(process, task, environment)
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                worker = running.pop(ready)
                graded = result(ready)
                worker.process.join()
                idle.append(worker.environment)
                if graded is not None:
                    yield worker.task, graded
                elif worker.task.student in died:
                    yield worker.task, Graded(failed=f"{ENDED}: its process was killed, twice")
                else:
                    died.add(worker.task.student)
                    repeated.append(worker.task)
    finally:  # a worker in the middle of C code hears no SIGTERM
        for worker in running.values():
            worker.process.kill()
        for worker in running.values():
            worker.process.join(ENDING_S)


def result(connection: Connection) -> Graded | None:
    """The result that a worker sends; None if it died first. Raises CannotGrade."""
    try:
        with connection:
            kind, content = connection.recv()
    except (EOFError, OSError):
        return None
    if kind == "machine":
        raise CannotGrade(content)
    return Graded.loads(content)


def serve_task(task: Task, connection: Connection, environment: dict[str, str]) -> None:
    """In the worker: do the task and send its result."""
    die_with(os.getppid())  # the fork server, which dies with the command; unless both were gone before that:
    command = multiprocessing.parent_process()
    if command and not command.is_alive():
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and says what to do
    os.environ.update(environment)
    with connection:
        try:
            connection.send(("graded", grade_task(task).dumps()))
        except OSError as error:
            connection.send(("machine", f"{error.filename or 'this machine'}: {error.strerror}"))
