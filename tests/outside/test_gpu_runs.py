"""Launches packed for a GPU, and how far its results are from the simulator's."""

import base64
import json
from dataclasses import asdict

import numpy as np
import pytest

from tests.outside.packed import digest, distance
from tests.outside.packing import with_counts
from tests.outside.test_coverage import kept_launch
from tutorlib.simulate.kept import KeptLaunch

CASE = "Elsewhere: kernel"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    return with_counts(kept_launch(tmp_path_factory.mktemp("kept"))[0], CASE)


def test_a_packed_launch_is_read_as_it_was_written(packed, tmp_path):
    packed.write(tmp_path / "one.launch")
    again = KeptLaunch.read(tmp_path / "one.launch")
    assert json.dumps(asdict(again)) == json.dumps(asdict(packed))
    (memory,) = packed.memory
    assert (memory.name, memory.width, memory.floats) == ("out", 4, False)
    assert not memory.piece.bytes.any()
    assert np.frombuffer(after(memory), np.int32).tolist() == [n ^ 32 for n in range(64)]
    assert (packed.counts["shared ld"], packed.counts["global st"], packed.counts["issued st.global"]) == (2, 8, 2)


def after(memory):
    return base64.b64decode(memory.after)


def test_how_far_a_gpu_is_from_the_simulator(packed):
    (memory,) = packed.memory
    assert distance(packed, [after(memory)])["differ"] == 0
    other = np.frombuffer(after(memory), np.int32).copy()
    other[3] += 5
    found = distance(packed, [other.tobytes()])
    assert (found["elements"], found["differ"], found["steps"]) == (64, 1, 5)
    assert digest([other.tobytes()]) != digest([after(memory)])
