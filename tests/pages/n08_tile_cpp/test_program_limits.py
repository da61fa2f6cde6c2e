"""A program without an end costs its first run's limit once, and not once for every size."""

from pathlib import Path

import pytest

from tutorlib.checking.cuda_host import TIME_LIMIT_S, ProgramRun
from tutorlib.exercises import find
from tutorlib.exercises.judges import p08 as judge


@pytest.mark.parametrize("simulated", [True, False])
def test_who_never_ends_is_not_waited_for_again_and_again(monkeypatch, simulated):
    limits = []

    def run(program, args, key, limit_s):
        limits.append(limit_s)
        return ProgramRun("it does not end", endless=True)

    monkeypatch.setattr(judge, "run_program", run)
    exercise = find("08.6")
    wrongs = exercise.faults(Path("program"), simulated)
    assert len(wrongs) == len(exercise.numbers)
    assert limits == [TIME_LIMIT_S] + [judge.AGAIN_S] * (len(wrongs) - 1)
