"""A sentence that knows which failures it tells of."""

from tutorlib.failure import Fail, Flaw, failures_in


def test_a_failure_covers_those_of_its_kind_that_agree_with_its_fields():
    got = Fail.CASE(name="rank 4", number=1)
    assert Fail.CASE().covers(got)
    assert Fail.CASE(name="rank 4").covers(got)
    assert not Fail.CASE(name="rank 3").covers(got)
    assert not Fail.GIVES(name="rank 4").covers(got)


def test_what_is_put_before_or_after_a_flaw_joins_it():
    flaw = "one: " + (Flaw("it is a list", Fail.GIVES(type="list")) + Flaw(", and raises", Fail.RAISED) + ".")
    assert flaw == "one: it is a list, and raises."
    assert flaw.failures == (Fail.GIVES(type="list"), Fail.RAISED())


def test_a_plain_sentence_tells_of_no_failure():
    assert failures_in(("not written yet",)) == ()
