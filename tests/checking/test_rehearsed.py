"""Of several rehearsals of one answer, which one the reader is told of."""

import pytest

from tutorlib.checking.exercise import Verdict
from tutorlib.checking.rehearsed import NotRehearsed, first_weakness
from tutorlib.checking.rehearsing.unsafe import Unsafe


def race():
    raise Unsafe("a race\nin line 3")


def waits():
    return "waits too long\nin line 4"


def reads():
    return "reads twice"


def fine():
    return ""


def told(*rehearsals, safe=2):
    return first_weakness([(f"{n} stages", rehearsal) for n, rehearsal in enumerate(rehearsals)], safe)


def test_what_is_safe_and_good_has_no_weakness():
    assert told(fine, fine) is None


def test_the_first_of_two_weaknesses_counts():
    assert told(fine, waits, reads) == Verdict(2, ("rehearsed with 1 stages:", "waits too long", "in line 4"))


def test_a_hazard_counts_before_a_weakness_wherever_it_shows():
    hazard = Verdict(0, ("rehearsed with 1 stages:", "a race", "in line 3"))
    assert told(waits, race) == told(reads, race, waits) == hazard


def test_what_cannot_be_followed_is_no_verdict():
    def stumbles():
        raise TypeError("no such thing")

    with pytest.raises(NotRehearsed, match="TypeError: no such thing"):
        told(waits, stumbles)


def test_what_is_not_written_stays_so():
    def placeholder():
        raise NotImplementedError("Exercise 10.2")

    with pytest.raises(NotImplementedError, match=r"10\.2"):
        told(placeholder)
