"""The registry: exercises by id, and what is said of an id that nobody has."""

import re

import pytest

from tutorlib.exercises import UnknownExercise, find, of_notebook, pages
from tutorlib.paths import notebook_names


@pytest.mark.usefixtures("trial")
class TestATrialCourse:
    def test_exercises_are_found_by_id_and_by_notebook(self):
        assert pages() == ("90",)
        assert [exercise.id for exercise in of_notebook("90_trial")] == ["90.1", "90.2", "90.3"]
        assert find("90.2") is of_notebook("90_trial")[1]

    def test_a_notebook_without_a_module_has_no_exercises(self):
        assert of_notebook("91_prose") == ()

    @pytest.mark.parametrize(
        ("id", "says"),
        [
            ("90.9", "notebook 90 has 90.1 to 90.3"),
            ("77.1", "no notebook 77"),
            ("9.3", 'like "02.3"'),
            (7, "like"),
        ],
    )
    def test_an_unknown_id_says_which_there_are(self, id, says):
        with pytest.raises(UnknownExercise, match=re.escape(says)):
            find(id)


def test_every_module_belongs_to_a_notebook():
    assert pages() == tuple(name[:2] for name in notebook_names())


@pytest.mark.parametrize("name", notebook_names())
def test_exercises_are_numbered_in_order_and_have_hints(name):
    exercises = of_notebook(name)
    assert [exercise.id for exercise in exercises] == [f"{name[:2]}.{n}" for n in range(1, len(exercises) + 1)]
    assert all(exercise.points > 0 for exercise in exercises)
    without_hints = {"18.29", "18.30"}  # the last bug: by then the reader needs none
    assert {exercise.id for exercise in exercises if not exercise.hints} <= without_hints
    tried_with = ("cases", "shapes", "numbers", "bug")
    assert all(any(getattr(exercise, name, ()) for name in tried_with) for exercise in exercises)
