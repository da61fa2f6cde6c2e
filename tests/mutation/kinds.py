"""A kernel exercise's answer as a simulated launcher, whatever its language, and the mutants of its source."""

from collections.abc import Iterator
from typing import Any

from tests.mutation import cpp, python
from tests.mutation.answers import Answer, value
from tests.mutation.mutant import Mutant
from tutorlib.checking.cpp import CppExercise
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.served import Served
from tutorlib.exercises.n18_bug_hunt.judge.fix import FixExercise
from tutorlib.measuring.simulated_launchers import SimulatedLauncher


def launcher(exercise: KernelExercise, answer: Any) -> SimulatedLauncher:
    """Raises what the exercise raises of an answer of the wrong kind."""
    return exercise.simulator(exercise.artifact(Served(answer)))


def mutants(exercise: KernelExercise, answer: Answer) -> Iterator[tuple[Mutant, Any]]:
    """Each mutant with the answer that it makes, which may fail to load."""
    if isinstance(exercise, CppExercise):
        source = value(answer.source, answer.name, 0)()
        for mutant in cpp.mutants(source):
            yield mutant, lambda mutant=mutant: lambda: mutant.source
    elif isinstance(exercise, FixExercise):
        source = value(answer.source, answer.name, 0)(exercise.bug.source)
        for mutant in cpp.mutants(source) if exercise.bug.language == "cpp" else python.mutants(source):
            yield mutant, lambda mutant=mutant: lambda source: mutant.source
    else:
        for number, mutant in enumerate(python.mutants(answer.source, answer.functions)):
            yield mutant, lambda mutant=mutant, number=number: value(mutant.source, answer.name, number + 1)
