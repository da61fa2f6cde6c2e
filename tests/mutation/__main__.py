"""python -m tests.mutation EXERCISE …"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.mutation import kinds
from tests.mutation.answers import Answer, answers, value
from tests.mutation.judge import Crashed, Judgement, judge
from tests.mutation.mutant import Mutant
from tutorlib.checking.kernel import KernelExercise
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises import find, modules
from tutorlib.problems.problem import Shape

Outcome = str  # "reported", "dear", "refused", "same code", "survived" or "crashed"


@dataclass(frozen=True)
class Judged:
    mutant: Mutant
    outcome: Outcome
    why: str


def chosen(names: list[str]) -> Iterator[tuple[KernelExercise, Answer]]:
    """The kernel exercises that the names stand for: "05" all of a notebook, "05.3" one."""
    for notebook in sorted(modules()):
        if not any(name[:2] == notebook[:2] for name in names):
            continue
        for answer in answers(notebook):
            exercise = find(answer.exercise)
            if isinstance(exercise, KernelExercise) and any(answer.exercise.startswith(name) for name in names):
                yield exercise, answer


def sizes(exercise: KernelExercise) -> tuple[Shape, ...]:
    return exercise.simulated_shapes or exercise.shapes


def judged(exercise: KernelExercise, mutant: Mutant, make: Callable[[], Any], right: Judgement) -> Judged:
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
    return Judged(mutant, "same code" if same else "survived", "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("exercises", nargs="+", help='"05" or "05.3"')
    parser.add_argument("--quiet", action="store_true", help="only survivors and totals")
    options = parser.parse_args()
    totals: Counter[Outcome] = Counter()
    survivors: list[tuple[str, Judged]] = []
    for exercise, answer in chosen(options.exercises):
        try:
            right = judge(
                kinds.launcher(exercise, value(answer.source, answer.name, 0)), exercise.problem, sizes(exercise)
            )
        except (NotImplementedError, TypeError, CompileFailed) as error:
            print(f"{exercise.id}: {error}")
            continue
        print(f"{exercise.id} {exercise.title}: unchanged: {'; '.join(right.found) or 'right'}", flush=True)
        counts: Counter[Outcome] = Counter()
        started = time.perf_counter()
        for mutant, make in kinds.mutants(exercise, answer):
            result = judged(exercise, mutant, make, right)
            counts[result.outcome] += 1
            if result.outcome == "survived":
                survivors.append((exercise.id, result))
            if not options.quiet or result.outcome == "survived":
                print(
                    f"  {result.outcome:8} line {mutant.line}: {mutant.what}"
                    + (f"\n           {result.why}" if result.why else ""),
                    flush=True,
                )
        totals += counts
        said = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
        print(f"  {exercise.id}: {said}; {time.perf_counter() - started:.0f} s", flush=True)
    print("in all: " + ", ".join(f"{n} {outcome}" for outcome, n in totals.most_common()))
    for id, result in survivors:
        print(f"survived: {id}, line {result.mutant.line}: {result.mutant.what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
