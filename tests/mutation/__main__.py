"""python -m tests.mutation EXERCISE …: writes tests/mutation/results.json"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import torch

from tests.mutation import kinds, results
from tests.mutation.answers import Answer, answers, value
from tests.mutation.judge import Crashed, Judgement, judge
from tests.mutation.mutant import Mutant
from tutorlib.checking.kernel import KernelExercise
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises import find, rooms
from tutorlib.problems.problem import Shape

# "reported" by the simulator, "dear": it moves more, "refused" by a compiler, "checked": found out by the rest of the
# exercise's check, "same code" as the solution, "survived", "crashed": the simulator itself failed, or its process
Outcome = str


@dataclass(frozen=True)
class Judged:
    mutant: Mutant
    outcome: Outcome
    why: str


def chosen(names: Sequence[str]) -> Iterator[tuple[KernelExercise, Answer]]:
    """The kernel exercises that the names stand for, in their order: "05" all of a notebook, "05.3" one."""
    for name in names:
        for notebook in sorted(rooms()):
            if name[:2] == notebook[:2]:
                yield from ((e, answer) for e, answer in kernels(notebook) if name in (e.id, e.id[:2]))


def kernels(notebook: str) -> Iterator[tuple[KernelExercise, Answer]]:
    for answer in answers(notebook):
        exercise = find(answer.exercise)
        if isinstance(exercise, KernelExercise):
            yield exercise, answer


def unknown() -> list[str]:
    """The kernel exercises of whose mutants nothing was kept."""
    known = results.read()
    return [e.id for notebook in sorted(rooms()) for e, _ in kernels(notebook) if e.id not in known]


def sizes(exercise: KernelExercise) -> list[Shape]:
    """What is simulated, the cheapest first: most mutants are wrong there already, and are tried nowhere else."""
    return sorted(exercise.sizes_simulated, key=prod)


def judged(exercise: KernelExercise, mutant: Mutant, make: Callable[[], Any], right: Judgement) -> Judged | None:
    """What the simulator has to say of a mutant, None where it takes it for right and it has other code.

    right: what it makes of the solution.
    """
    try:
        found = judge(kinds.launcher(exercise, make()), exercise.problem, sizes(exercise))
    except Crashed as error:
        return Judged(mutant, "crashed", str(error)[:150])
    except Exception as error:  # a mutant may fail in any way while it is loaded and traced
        return Judged(mutant, "refused", f"{type(error).__name__}: {error}"[:150])
    if found.found:
        return Judged(mutant, "reported", found.found[0][:200])
    dearer = [key for key, taken in found.taken.items() if taken > right.taken[key]]
    if dearer:
        space, shape = dearer[0]
        more = found.taken[dearer[0]] - right.taken[dearer[0]]
        return Judged(mutant, "dear", f"{more} {'wavefronts' if space == 'shared' else 'sectors'} more at {shape}")
    same = all(found.ptx[shape] == right.ptx[shape] for shape in sizes(exercise))
    return Judged(mutant, "same code", "") if same else None


def checked(exercise: KernelExercise, mutant: Mutant, make: Callable[[], Any]) -> Judged | None:
    """What the exercise's own check says of a mutant that the simulator took; None where it gets full points there."""
    outcome = exercise.grade(make())
    if outcome.points >= exercise.points_anywhere:
        return None
    return Judged(mutant, "checked", outcome.message.splitlines()[-1].strip())


def mutate(exercise: KernelExercise, answer: Answer) -> Iterator[Judged]:
    """Every mutant of a solution with its judgement. Raises as `judge` where the solution itself cannot be judged."""
    right = None
    for mutant, make in kinds.mutants(exercise, answer):
        found = None
        if exercise.simulated:
            right = right or judge_solution(exercise, answer)
            found = in_a_process_of_its_own(mutant, partial(judged, exercise, mutant, make, right))
        if found is None:
            found = in_a_process_of_its_own(mutant, partial(checked, exercise, mutant, make))
        yield found or Judged(mutant, "survived", "")


def judge_solution(exercise: KernelExercise, answer: Answer) -> Judgement:
    launcher = kinds.launcher(exercise, value(answer.source, answer.name, 0))
    right = judge(launcher, exercise.problem, sizes(exercise))
    if right.found:
        raise AssertionError(f"the solution itself is reported: {right.found[0]}")
    return right


def in_a_process_of_its_own(mutant: Mutant, work: Callable[[], Judged | None]) -> Judged | None:
    """What the work gives: some mutants end the compiler, and with it the process, by an assertion of LLVM's."""
    context = multiprocessing.get_context("fork")  # what is imported, and the solution's judgement, are there at once
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work()))
    process.start()
    sender.close()
    try:
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        process.join()
        return Judged(mutant, "crashed", f"its process ended by {process.exitcode}")
    finally:
        process.join()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("exercises", nargs="*", help='"05" or "05.3"; none: those that results.json has not')
    parser.add_argument("--quiet", action="store_true", help="only survivors and totals")
    options = parser.parse_args()
    torch.set_num_threads(1)  # a process cannot be forked whose threads share a lock
    totals: Counter[Outcome] = Counter()
    for exercise, answer in chosen(options.exercises or unknown()):
        found: list[Judged] = []
        started = time.perf_counter()
        try:
            for one in mutate(exercise, answer):
                found.append(one)
                if not options.quiet or one.outcome == "survived":
                    said = f"  {one.outcome:8} line {one.mutant.line}: {one.mutant.what}"
                    print(said + (f"\n           {one.why}" if one.why else ""), flush=True)
        except (NotImplementedError, TypeError, CompileFailed) as error:
            print(f"{exercise.id}: {error}")
            continue
        counts = Counter(one.outcome for one in found)
        totals += counts
        said = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
        print(f"{exercise.id} {exercise.title}: {said}; {time.perf_counter() - started:.0f} s", flush=True)
        results.keep(exercise.id, counts, [one.mutant.what for one in found if one.outcome == "survived"])
    print("in all: " + ", ".join(f"{n} {outcome}" for outcome, n in totals.most_common()))
    for id, what, why in results.survivors():
        print(f"survived: {id}: {what}: {why or 'A HOLE, or as right as the solution: say in results.HARMLESS why'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
