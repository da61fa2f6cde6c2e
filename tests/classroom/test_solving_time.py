"""Time to solve: the rule, what a file may say, and that nothing rests on it."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutorlib.classroom.solving_time import PAUSE_S, left_in, times_in, times_to_solve
from tutorlib.notebook.attempts import text_of_tries
from tutorlib.notebook.progress import Tried

NOON = 1_767_268_800
PAGE = "02_layout_algebra"
PAGES_TRIES = st.dictionaries(
    st.sampled_from(["02.1", "02.2", "02.3"]),
    st.lists(st.builds(Tried, st.integers(NOON, NOON + 4 * PAUSE_S), st.booleans()), max_size=8),
)


def tries(*minutes: float) -> list[Tried]:
    """Tries at these minutes after noon; of a negative number the try is a wrong one."""
    return [Tried(NOON + round(60 * abs(minute)), minute > 0) for minute in minutes]


def output(exercise: object, said: object) -> dict:
    return {"output_type": "display_data", "data": {}, "metadata": {"tutorlib": {"exercise": exercise, "tries": said}}}


def file(*outputs: object) -> bytes:
    return json.dumps({"cells": [{"cell_type": "code", "source": "", "outputs": [one]} for one in outputs]}).encode()


class TestTheRule:
    @pytest.mark.parametrize(
        ("page", "minutes"),
        [
            ({"a": tries(-5, -8, 12)}, {"a": 7}),
            ({"a": tries(5), "b": tries(25)}, {"b": 20}),
            ({"a": tries(5, 20), "b": tries(25)}, {"b": 5}),  # a was run again, as at the start of an evening
            ({"a": tries(-5, -45, 50)}, {"a": 5}),
            ({"a": tries(-5, 35)}, {"a": 30}),
            ({"a": tries(-5, 35.1)}, {}),
            ({"a": tries(-5, -10), "b": tries(20)}, {"b": 10}),
            ({"a": tries(-10, 40), "b": tries(-15, 35)}, {"a": 5, "b": 25}),
            ({"a": tries(-10, 12, 20, -25)}, {"a": 2}),
            ({"a": [], "b": tries(3)}, {}),
            ({}, {}),
        ],
        ids=[
            *("three tries", "after another exercise", "after it was run again", "a pause", "no pause yet"),
            *("only a pause", "not solved", "in between another", "run again", "the first at once", "nothing"),
        ],
    )
    def test_known_cases(self, page, minutes):
        assert {id: seconds / 60 for id, seconds in times_to_solve(page).items()} == minutes

    @given(PAGES_TRIES)
    def test_no_time_is_spent_twice(self, page):
        times = times_to_solve(page)
        moments = sorted(one.utc for each in page.values() for one in each)
        stretches = [after - before for before, after in pairwise(moments)]
        assert all(seconds >= 0 for seconds in times.values())
        assert sum(times.values()) <= sum(one for one in stretches if one <= PAUSE_S)
        assert times.keys() <= {id for id, each in page.items() if any(one.right for one in each)}

    @given(PAGES_TRIES, st.integers(-(10**6), 10**6))
    def test_the_hour_does_not_matter(self, page, shift):
        moved = {id: [Tried(one.utc + shift, one.right) for one in each] for id, each in page.items()}
        assert times_to_solve(moved) == times_to_solve(page)


class TestAFile:
    def test_what_checks_left_gives_times(self):
        content = file(
            output("02.2", text_of_tries(tries(20))),
            output("02.1", text_of_tries(tries(-1))),
            {"output_type": "stream", "name": "stdout", "text": "✗"},
            output("02.1", text_of_tries(tries(-1, 4))),  # of two outputs the last
        )
        assert times_in(content, PAGE, NOON + 3600) == (("02.1", 180.0), ("02.2", 960.0))

    def test_exercises_of_other_pages_or_of_none_are_left_out(self):
        content = file(*(output(id, text_of_tries(tries(-1, 4))) for id in ("03.1", "<script>", "02.99", "02.1")))
        assert times_in(content, PAGE, NOON + 3600) == (("02.1", 180.0),)

    def test_a_try_of_tomorrow_is_none_and_the_others_stay(self):
        tomorrow = text_of_tries(tries(-1, 60 * 24))
        content = file(output("02.1", tomorrow), output("02.2", text_of_tries(tries(-1, 4))))
        assert times_in(content, PAGE, NOON + 3600) == (("02.2", 180.0),)
        assert times_in(content, PAGE, NOON + 2 * 24 * 3600) == (("02.2", 180.0),)

    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe\x00", b"\x00" * 99, b"[" * 10**5, b"9" * 10**4),
            *(b'{"cells": NaN}', b'{"cells": {"a": 1}}', b'{"cells": [1, null, [], {"outputs": 3}, {"outputs": [3]}]}'),
            b'{"cells": [{"outputs": [{"metadata": 1}, {"metadata": {"tutorlib": []}}, {"metadata": null}]}]}',
        ],
    )
    def test_what_is_no_notebook_gives_none(self, content):
        assert times_in(content, PAGE, NOON + 3600) == ()

    @pytest.mark.parametrize(
        ("exercise", "said"),
        [
            *((id, "1767268800-1767268900+") for id in (None, 2.1, ["02.1"], {"02.1": 1}, "02.1 ", "\ud800")),
            *(("02.1", said) for said in (None, float("nan"), float("inf"), -1, [], [[1767268800, True]], {}, True)),
            *(
                ("02.1", said)
                for said in ("", "NaN+", "-1+", "1e9+", "1767268800-<script>alert(1)</script>", "١٢٣٤٥٦٧٨٩+")
            ),
            *(("02.1", said) for said in ("1767268800-1767268900+" * 10**5, "9999999999+" * 24, "1" * 10**5 + "+")),
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_garbage_is_ignored_and_costs_its_neighbors_nothing(self, exercise, said):
        good = text_of_tries(tries(-1, 4))
        content = file(output("02.2", good), output(exercise, said), output("02.1", good), output(exercise, said))
        assert dict(times_in(content, PAGE, NOON + 3600)).keys() == {"02.1", "02.2"}

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(["cells", "outputs", "metadata", "tutorlib", "exercise", "tries"]), inner
                )
            ),
        )
    )
    def test_no_json_is_an_error(self, data):
        assert not any(found for _, found in left_in(json.dumps(data).encode()))
