"""`check` in the notebook and the judge outside it give an answer the same points."""

import pytest
import tensor_layouts as tl

from tests.from_afar import judged_from_afar
from tests.pages.answers import RIGHT, WRONG
from tutorlib.exercises import find, of_notebook
from tutorlib.paths import notebook_names

ANYWHERE = [exercise.id for name in notebook_names() if name < "04" for exercise in of_notebook(name)]


@pytest.mark.parametrize("id", ANYWHERE)
def test_every_answer_that_is_tried_has_the_same_verdict_inside_and_outside(id):
    """Full points or not. A wrong one's part of them may differ by the cases that are drawn."""
    exercise = find(id)
    for answer in (*RIGHT[id], *WRONG[id]):
        outside, here = judged_from_afar(exercise, answer.function).points, exercise.grade(answer.function).points
        assert (outside == exercise.points) == (here == exercise.points), answer.text


def test_a_librarys_value_error_is_one_outside_too():
    def raises_a_layout_error(a, b):
        assert issubclass(tl.LayoutError, ValueError)
        return tl.compose(a, b)

    case = next(case for case in find("02.2").cases if case.name == "no layout is the answer")
    assert case.judge(raises_a_layout_error) is None
    exercise = type(find("02.2"))(id="90.1", title="answer", points=1, cases=(case,))
    assert judged_from_afar(exercise, raises_a_layout_error).points == 1
