"""Late days: the rules' file, which time counts, and what it costs."""

from datetime import UTC, datetime, timedelta

import pytest

from tutorlib.classroom.handed_in import HandedIn, Owner
from tutorlib.classroom.late_rules import (
    HandInTime,
    Rules,
    extension_of,
    hand_in_time,
    late_notebooks,
    of_one_download,
    read_rules,
    time_in,
)
from tutorlib.classroom.roster import Enrolled, Listed
from tutorlib.classroom.tables import BadTable

DUE = datetime(2026, 11, 20, 22, 59, tzinfo=UTC)
BERLIN = """
time_zone = "Europe/Berlin"
due = 2026-11-20T23:59:00
penalty = "10%"
grace_hours = 2
free_days = 1
cap = "50%"
[notebooks.01]
due = 2026-11-27T23:59:00+01:00
"""


def lateness(rules: str | Rules, times: dict[str, HandInTime], got: float = 10):
    """The notebooks that are late, of 10 points each."""
    rules = read_rules(rules, "rules.toml") if isinstance(rules, str) else rules
    return late_notebooks(rules, enrolled(), times, dict.fromkeys(times, (got, 10)))


def penalties(rules: str, **hours: float) -> dict[str, float]:
    """Notebook's number → points for lateness. hours: nNN = hours after DUE."""
    names = {"n00": "00_start", "n01": "01_layouts", "n02": "02_layout_algebra"}
    times = {names[n]: HandInTime(DUE + timedelta(hours=after), "x") for n, after in hours.items()}
    return {one.notebook[:2]: one.penalty for one in lateness(rules, times)}


class TestTheFile:
    def test_all_of_it(self):
        rules = read_rules(BERLIN, "rules.toml")
        assert rules.due == DUE
        assert rules.due_of("01_layouts", enrolled()) == datetime(2026, 11, 27, 22, 59, tzinfo=UTC)
        assert (rules.penalty(20), rules.cap(20), rules.grace_hours, rules.free_days) == (2, 10, 2, 1)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("due = ", "rules.toml: not TOML: "),
            (
                "deu = 2026-11-20T23:59:00Z",
                "rules.toml: there is no rule deu; there are due, penalty, cap, grace_hours",
            ),
            ("due = 2026-11-20T23:59:00", "has no time zone; write time_zone = 'Europe/Berlin', or add an offset"),
            ("due = 2026-11-20", "no date with a time; write due = 2026-11-20T23:59:00+01:00, without quotation marks"),
            ('due = "Friday"', "no date with a time; write"),
            ('time_zone = "Berlin"', "no time zone of that name; write it like Europe/Berlin"),
            ('time_zone = "../etc"', "no time zone of that name"),
            ('penalty = "ten"', 'neither points, like 2, nor a percentage, like "10%"'),
            ("penalty = -1", "not a number from 0 upwards"),
            ("penalty = nan", "not a number from 0 upwards"),
            ("free_days = 1.5", "not a whole number from 0 upwards"),
            ("free_days = true", "not a number from 0 upwards"),
            ("notebooks = 3", "notebooks = 3"),
            ("[notebooks]\n01 = 2026-11-20T23:59:00Z", "write [notebooks.01], and below it due"),
            ("[notebooks.77]\ndue = 2026-11-20T23:59:00Z", "there is no notebook 77; there are 00_start, "),
            ("[notebooks.01]\npenalty = 1", "[notebooks.01]: there is no rule penalty; there are due."),
            ("[notebooks.01]\ndue = 3", "[notebooks.01]: due = 3: no date with a time"),
        ],
    )
    def test_a_mistake_is_one_line(self, text, says):
        with pytest.raises(BadTable) as error:
            read_rules(text, "rules.toml")
        assert says in str(error.value)
        assert "\n" not in str(error.value)


class TestWhatItCosts:
    @pytest.mark.parametrize(
        ("hours", "points"),
        [(-1, None), (0, None), (2, None), (2.01, 2), (24, 2), (24.01, 4), (72, 6), (24 * 30, 10)],
    )
    def test_each_started_day(self, hours, points):
        rules = f'due = {DUE.isoformat()}\npenalty = "20%"\ngrace_hours = 2'
        assert penalties(rules, n00=hours) == ({} if points is None else {"00": points})

    def test_points_and_a_cap(self):
        rules = f"due = {DUE.isoformat()}\npenalty = 1.5\ncap = 4"
        assert [penalties(rules, n00=hours)["00"] for hours in (1, 25, 49, 999)] == [1.5, 3, 4, 4]

    def test_a_free_day_pays_for_all_that_was_due_together_the_earliest_first(self):
        assert penalties(BERLIN, n00=30, n02=30, n01=24 * 7 + 30) == {"00": 1, "02": 1, "01": 2}
        assert penalties(BERLIN, n00=20, n01=24 * 7 + 30) == {"00": 0, "01": 2}
        assert penalties(BERLIN, n00=-5, n01=24 * 7 + 30) == {"01": 1}

    def test_no_due_date_is_no_lateness(self):
        assert penalties('penalty = "10%"', n00=10**4) == {}

    def test_a_mark_without_a_time_counts_a_day(self):
        times = {"00_start": HandInTime(None, "Canvas's mark", True), "01_layouts": HandInTime(None, "Canvas's mark")}
        (late,) = lateness(f"due = {DUE.isoformat()}\npenalty = 1", times)
        assert (late.notebook, late.days, late.penalty) == ("00_start", 1, 1)
        assert late.text == "00 is 1 day late, −1 point: no time is known (by Canvas's mark), due 2026-11-20 22:59 UTC"

    def test_no_notebook_loses_more_than_it_has(self):
        times = {"00_start": HandInTime(DUE + timedelta(days=3), "x")}
        (late,), (less,) = lateness(BERLIN, times), lateness(BERLIN, times, got=0.5)
        assert (late.days, late.free, late.penalty, less.penalty) == (3, 1, 2, 0.5)
        assert late.text == (
            "00 is 3 days late (1 free), −2 points: handed in 2026-11-23 23:59 CET (by x), due 2026-11-20 23:59 CET"
        )


# Which time counts ------------------------------------------------------------------------------------------------

FILE, ZIP = "ann/00_start.ipynb", 1_764_000_000.0


def enrolled(system="", handed_in="", late=False, extension="") -> Enrolled:
    student = HandedIn("ann", system, "7", "ann", arrivals={FILE: Owner("ann", at=ZIP, late=late)})
    listed = Listed("Ann Lee", "7", handed_in=handed_in, extension=extension, place="roster.csv, line 2", system=system)
    return Enrolled(student, listed, "Ann Lee")


def counts(student: Enrolled, one_download: bool = False) -> HandInTime | None:
    return hand_in_time(student, FILE, read_rules(BERLIN, "rules.toml"), one_download)


class TestWhichTimeCounts:
    def test_first_the_roster_s_in_the_rules_time_zone(self):
        found = counts(enrolled("moodle", "Friday, 20 November 2026, 2:14 PM"))
        assert found == HandInTime(datetime(2026, 11, 20, 13, 14, tzinfo=UTC), "Moodle's worksheet")
        assert counts(enrolled("canvas", "2026-11-20 14:14")) == HandInTime(found.utc, "the roster")

    def test_then_canvas_s_mark_whatever_time_the_file_has(self):
        assert counts(enrolled("canvas", late=True)) == HandInTime(None, "Canvas's mark", True)
        assert counts(enrolled("canvas")) == HandInTime(None, "Canvas's mark", False)
        assert counts(enrolled("canvas", late=True, extension="2026-12-01")) is None

    def test_then_the_file_s_time(self):
        assert counts(enrolled()).utc.timestamp() == ZIP
        assert counts(enrolled("moodle", "-")).utc.timestamp() == ZIP

    def test_not_the_time_of_a_download(self):
        assert counts(enrolled("moodle"), one_download=True) is None
        together = [HandedIn(str(n), "moodle", str(n), arrivals={"x": Owner("", at=ZIP + n)}) for n in range(3)]
        apart = [HandedIn(str(n), "moodle", str(n), arrivals={"x": Owner("", at=ZIP + 3601 * n)}) for n in range(3)]
        assert (of_one_download(together), of_one_download(apart), of_one_download(together[:1])) == (
            True,
            False,
            False,
        )

    @pytest.mark.parametrize(
        "said",
        [
            *("Sunday, 22 November 2026, 2:14 PM", "Sunday, 22 November 2026, 2:14\u202fPM"),
            *("Sunday, November 22, 2026, 2:14 PM", "Sunday, 22 November 2026, 14:14", "22 November 2026, 02:14 PM"),
            *("2026-11-22 14:14", "2026-11-22T15:14:00+01:00", "2026-11-22T14:14:00Z"),
        ],
    )
    def test_ways_of_writing_a_time(self, said):
        assert time_in(said, UTC) == datetime(2026, 11, 22, 14, 14, tzinfo=UTC)

    @pytest.mark.parametrize("said", ["", "-", "Sonntag, 22. November 2026, 14:14", "22/11/2026"])
    def test_what_is_no_time(self, said):
        assert time_in(said, UTC) is None


class TestExtensions:
    @pytest.mark.parametrize(
        ("extension", "late"),
        [("", 3), ("2026-11-19", 3), ("2026-11-21 23:59", 2), ("2026-11-22", 1), ("2026-11-23", 0)],
    )
    def test_a_later_deadline_and_never_an_earlier_one(self, extension, late):
        student = enrolled(extension=extension)
        times = {"00_start": HandInTime(DUE + timedelta(days=2, hours=3), "x")}
        found = late_notebooks(read_rules(BERLIN, "r"), student, times, {"00_start": (10, 10)})
        assert sum(one.days for one in found) == late

    def test_one_that_is_no_time_is_a_line(self):
        with pytest.raises(BadTable, match=r"^roster\.csv, line 2: 'soon' is no time; write 2026-11-27 23:59\.$"):
            extension_of(enrolled(extension="soon"), UTC)
