"""Grading all notebooks of a submission side by side. A notebook that the grader fails at costs no other."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

from tutorlib.checking.exercise import Outcome
from tutorlib.checking.randomness import new_seed
from tutorlib.course.source import BuildError
from tutorlib.exercises import of_notebook
from tutorlib.grading import sandbox
from tutorlib.grading.grading_run import GradingFailed, Limits, grade_page
from tutorlib.grading.merged_page import StudentCode, merged_page, student_code
from tutorlib.grading.scores import Scores
from tutorlib.grading.scratch import scratch_folder
from tutorlib.grading.submission import Submitted
from tutorlib.machine.device import gpu

ATTEMPTS = 2  # at a notebook: a process may fail to start on a machine that has too much to do
ON_GPU = 8  # notebooks at a time, at most, that share a GPU's memory


def grade(
    submission: Iterable[Submitted],
    limits: Limits,
    graded: Callable[[str], None] = lambda name: None,
    *,
    seed: int | None = None,
    sandboxed: bool = True,
    workers: int | None = None,
) -> Scores:
    """Grade the notebooks of a submission side by side; on a GPU they take turns, and each has it alone for its times.

    graded: called with each notebook's name when it is done.
    seed: of the inputs that the judge draws; None for a secret one. The scores name it.
    sandboxed: whether students' processes run in sandboxes. workers: how many of these at a time; None: `at_a_time`.
    Raises GradingFailed where there can be no sandbox, BuildError where the course itself is broken, OSError.
    """
    if sandboxed and (why := sandbox.why_open()):
        raise GradingFailed(f"{why}, or grade students' code without a sandbox: --no-sandbox.")
    limits = replace(limits, seed=new_seed() if seed is None else seed)
    submission = list(submission)
    found = {one.name: student_code(one) for one in submission}
    if any(map(work, submission)):
        import torch  # noqa: F401  once: those who judge kernels are forked from this process
    with scratch_folder() if gpu() else nullcontext() as turns:
        grader = Grader(replace(limits, turns=turns), found, graded, sandboxed)
        return asyncio.run(grader.grade(submission, workers or at_a_time()))


def at_a_time() -> int:
    """How many sandboxes: one on each core; with a GPU on half of them, as judging takes cores beside the kernel's."""
    cores = os.cpu_count() or 1
    return max(1, min(cores // 2, ON_GPU)) if gpu() else cores


@dataclass(frozen=True)
class GradedPage:
    """A notebook's outcomes, and why the grader failed at it, or ""."""

    outcomes: list[Outcome]
    broken: str = ""


@dataclass(frozen=True)
class Grader:
    """The arguments of `grade`. found: notebook → the student's code in it."""

    limits: Limits
    found: Mapping[str, StudentCode]
    graded: Callable[[str], None]
    sandboxed: bool

    async def grade(self, submission: list[Submitted], workers: int) -> Scores:
        """The longest pages begin first, so that no core is left with one of them at the end."""
        free = asyncio.Semaphore(workers)

        async def told(submitted: Submitted) -> GradedPage:
            graded = await self.grade_one(submitted, free)
            self.graded(submitted.name)
            return graded

        begun = {one.name: asyncio.create_task(told(one)) for one in sorted(submission, key=work, reverse=True)}
        await asyncio.gather(*begun.values())
        results = {one.name: begun[one.name].result() for one in submission}
        return Scores(
            tuple(outcome for graded in results.values() for outcome in graded.outcomes),
            self.limits.seed,
            {name: graded.broken for name, graded in results.items() if graded.broken},
        )

    async def grade_one(self, submitted: Submitted, free: asyncio.Semaphore) -> GradedPage:
        """One notebook, or why it could not be graded. Raises BuildError and OSError: these are about no notebook."""
        exercises = of_notebook(submitted.name)
        why = ""
        async with free:
            for _ in range(ATTEMPTS):
                try:
                    page = merged_page(submitted.name, self.found[submitted.name])
                    outcomes = await grade_page(page, [one.id for one in exercises], self.limits, self.sandboxed)
                    return GradedPage([*outcomes.values()])
                except GradingFailed as error:
                    why = str(error)
                except (BuildError, OSError):
                    raise
                except Exception as error:  # a page that the grader itself stumbles over
                    why = f"{type(error).__name__}: {error}"
        return GradedPage([one.outcome("error", 0, f"could not be graded: {why}") for one in exercises], why)


def work(submitted: Submitted) -> int:
    """Which of two pages takes longer to grade: the one with more points for what must be compiled."""
    return sum(exercise.points for exercise in of_notebook(submitted.name) if exercise.needs)
