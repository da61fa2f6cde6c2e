"""A program without an end costs its first run's limit once, and not once for every size."""

from pathlib import Path

import pytest

from tutorlib.checking.cuda_host import program_run
from tutorlib.exercises import find
from tutorlib.exercises.judges import p08 as judge


@pytest.mark.parametrize("simulated", [True, False])
def test_who_never_ends_is_not_waited_for_again_and_again(monkeypatch, simulated):
    limits = []

    def run(command, gpu, limit_s=program_run.TIME_LIMIT_S):
        limits.append(limit_s)
        return program_run.ProgramRun("it does not end", endless=True)

    monkeypatch.setattr(program_run, "run_of", run)
    exercise = find("08.6")
    wrongs = exercise.faults(Path("program"), simulated)
    assert len(wrongs) == len(exercise.numbers)
    assert limits == [program_run.TIME_LIMIT_S] + [judge.AGAIN_S] * (len(wrongs) - 1)
