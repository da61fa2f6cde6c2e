"""Grading: a submission → scores.

The answer cells of a submission, and nothing else of it, are put into the notebook as the course has it, which runs
under pytest and nbval in a child process with limits of time, memory and output. Three things must agree before an
exercise gets points: the record that `check` writes, what nbval saw of the check cell, and, where the exercise is about
values and not about kernels, a second judgement by pytest's process, which calls the answer in the kernel and compares
what comes back with its own reference. So code that tampers with its own kernel (patches `check`, forges the record,
rewrites later cells) gains nothing: it has to return right values.

What is left open. The kernel runs as the same user as the grader and holds the whole of tutorlib: an answer can call
the course's own reference, look for the expected values, or attack the grader's process or files. A kernel, or a
@cute.jit function, cannot be judged from outside: it rests on the record and on nbval, which are the kernel's word.
So read the answers where grades matter, and grade strangers in a sandbox.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from tutorlib.checking.chance import new_seed
from tutorlib.checking.exercise import Outcome
from tutorlib.grading import sandbox
from tutorlib.grading.graft import graft
from tutorlib.grading.judged import hidden_from
from tutorlib.grading.run import GradingFailed, Limits, grade_notebook
from tutorlib.grading.scores import Scores
from tutorlib.grading.submission import BadSubmission, Submitted, read_submission
from tutorlib.machine.device import gpu

__all__ = ["BadSubmission", "GradingFailed", "Limits", "Scores", "Submitted", "grade", "read_submission"]


def grade(
    submission: Iterable[Submitted],
    limits: Limits,
    out: Path | None = None,
    graded: Callable[[str], None] = lambda name: None,
    *,
    seed: int | None = None,
    sandboxed: bool = True,
    workers: int | None = None,
    demos: bool = True,
) -> Scores:
    """Grade the notebooks of a submission side by side, one on each core; with a GPU one by one, as they take times.

    out: a folder that keeps pytest's JUnit files. graded: called with each notebook's name when it is done.
    seed: of the inputs that the judge draws; None for one that nobody knows. The scores name it.
    sandboxed: whether students' processes are walled in. workers: how many notebooks at a time, where not so many.
    demos: whether the page's own cells run too that no answer needs.
    Raises GradingFailed, and BuildError where the course itself is broken.
    """
    if sandboxed and (why := sandbox.why_open()):
        raise GradingFailed(f"{why}, or grade without a wall around students' code: --no-sandbox.")
    limits = replace(limits, seed=new_seed() if seed is None else seed)
    workers = workers or (1 if gpu() else os.cpu_count() or 1)
    return asyncio.run(grade_all(list(submission), limits, out, graded, sandboxed, workers, demos))


async def grade_all(
    submission: list[Submitted],
    limits: Limits,
    out: Path | None,
    graded: Callable[[str], None],
    sandboxed: bool,
    workers: int,
    demos: bool,
) -> Scores:
    free = asyncio.Semaphore(workers)

    async def grade_one(submitted: Submitted) -> list[Outcome]:
        hidden = tuple(hidden_from(submitted.name)) if sandboxed else None
        async with free:
            outcomes = await grade_notebook(graft(submitted, demos), limits, out, hidden)
        graded(submitted.name)
        return outcomes

    graded_notebooks = await asyncio.gather(*map(grade_one, submission))
    return Scores(tuple(outcome for outcomes in graded_notebooks for outcome in outcomes), limits.seed)
