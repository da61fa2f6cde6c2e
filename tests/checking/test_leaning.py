"""What an answer may not lean on: the library's function for the very thing that is asked."""

import tensor_layouts as tl
from tensor_layouts import Layout
from tensor_layouts import compose as put_together

from tutorlib.checking.values import ValueExercise, equals

LIBRARY = {"tl.compose": tl.compose, "sum": sum, "mma.a_layout": "a_layout"}
CALLS = [(Layout((4, 8), (8, 1)), Layout(4, 8)), (Layout(8, 3), Layout(4, 2))]
COMPOSE = ValueExercise(
    id="99.1", title="compose", points=1, cases=(equals("any", CALLS, tl.compose),), library=LIBRARY
)


def told(answer):
    outcome = COMPOSE.grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    return outcome.message


def test_a_call_is_told_under_any_name_in_helpers_and_where_it_raises():
    def by_helper(a, b):
        return helper(a, b)

    def helper(a, b):
        return put_together(a, b)

    def swallows(a, b):
        try:
            return tl.compose(a, Layout(7, 7))
        except ValueError:
            return None

    says = "✗ 99.1 compose: it calls tl.compose, which does what you are asked to write."
    for answer in (tl.compose, put_together, by_helper, swallows, lambda a, b: tl.compose(a, b)):
        assert told(answer).startswith(says)


def test_functions_written_in_c_and_attributes_are_told_too():
    class Atom:
        a_layout = Layout(4, 2)

    assert "it calls sum," in told(lambda a, b: sum([1, 2]))
    assert "it uses mma.a_layout," in told(lambda a, b: Atom.a_layout)


def test_what_the_library_calls_on_the_way_to_something_else_is_not_told():
    answers = {args: tl.compose(*args) for args in CALLS}
    outcome = COMPOSE.grade(lambda a, b: tl.logical_divide(a, tl.size(a)) and answers[a, b])
    assert outcome.status == "passed", outcome.message


def test_the_answer_keeps_its_name_and_its_lines_in_messages():
    def composed(a, b):
        raise KeyError("no")

    line = composed.__code__.co_firstlineno + 1
    assert f"composed((4,8):(8,1), 4:8) raised KeyError: 'no' (line {line} of your answer)" in told(composed)
