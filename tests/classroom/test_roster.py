"""The roster: files as Moodle, Canvas and spreadsheets write them, and whose hand-in is whose."""

from pathlib import Path

import pytest

from tutorlib.classroom import CannotGrade
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import Listed, enrolled, read_roster

MOODLE = (
    "Identifier,Full name,ID number,Email address,Status,Group,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\r\n"
    'Participant 4711,Zoë van Dam,2201,zoe@uni.example,"Submitted for grading - 2 days 3 hours late",Lab A,,10.00,Yes,'
    '"Sunday, 22 November 2026, 2:14 PM",-,\r\n'
    "Participant 4712,Ann Lee,2202,ann@uni.example,No submission,Lab B,,10.00,Yes,-,-,\r\n"
)
PARTICIPANTS = '"First name","Last name","ID number","Email address",Groups\nZoë,"van Dam",2201,zoe@uni.example,Lab A\n'
CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,"Homework 1 (901234)",Current Score,Final Score\n'
    '"    Points Possible",,,,,10.0,(read only),(read only)\n'
    '"Liddell, Alice",123,30000001,al123,CS-1,9.0,92.5,92.5\n'
    '"van Dam, Zoë",124,30000002,zoe@uni.example,"CS-1 and CS-2",,,\n'
    '"Student, Test",999,,,CS-1,,,\n'
)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def roster(text: str | bytes) -> list[Listed]:
    Path("r.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roster(Path("r.csv"))


def named(text: str | bytes) -> list[tuple[str, str]]:
    return [(one.id, one.name) for one in roster(text)]


class TestReading:
    def test_moodle_s_worksheet_as_it_is(self):
        zoe, ann = roster(MOODLE)
        assert (zoe.system, zoe.id, zoe.name, zoe.email, zoe.number, zoe.section) == (
            *("moodle", "4711", "Zoë van Dam", "zoe@uni.example", "2201", "Lab A"),
        )
        assert (zoe.handed_in, ann.handed_in) == ("Sunday, 22 November 2026, 2:14 PM", "-")

    def test_moodle_s_participants(self):
        assert named(PARTICIPANTS) == [("", "Zoë van Dam")]

    def test_canvas_s_gradebook_as_it_is(self):
        alice, zoe = roster(CANVAS)
        assert (alice.system, alice.id, alice.name, alice.login) == ("canvas", "123", "Liddell, Alice", "al123")
        assert (zoe.section, zoe.email, zoe.number) == ("CS-1 and CS-2", "zoe@uni.example", "30000002")

    @pytest.mark.parametrize(
        "text",
        [
            "id,name,email\n7,Ann Lee,ann@x\n",
            "\ufeffid,name,email\n7,Ann Lee,ann@x\n",
            "ID;Name;E-Mail\n7;Ann Lee;ann@x\n",
            "id\tname\temail\n7\tAnn Lee\tann@x\n",
            'email,"name",id\r\nann@x,"Ann  Lee",7,\r\n,,\r\n',
        ],
        ids=["comma", "BOM", "semicolon", "tab", "order, quotes, empty lines"],
    )
    def test_a_plain_file(self, text):
        (one,) = roster(text)
        assert (one.id, one.name, one.email) == ("7", "Ann Lee", "ann@x")

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_encodings(self, encoding):
        assert named("id,name\n7,Zoë\n".encode(encoding)) == [("7", "Zoë")]

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "r.csv: its columns are none; needed: id,name,email; Moodle's"),
            (b"id,name\n", "r.csv: no student is on it."),
            (b"grade,comment\n1,x\n", "r.csv: its columns are comment, grade; needed: id,name,email; Moodle's"),
            (b"id,name\n7,Lee, Ann\n", "r.csv, line 2: there are more than 2 fields; put a field that contains ','"),
            (b"id,name,email\n,,x@y\n", "r.csv, line 2: neither an id nor a name."),
            (b"id,name\n7,Ann\n8,Bob\n7,Cy\n", "r.csv, line 4: Cy has the id of r.csv, line 2."),
            (b"name,email\nAnn,a@x\nAnn,b@x\n", "r.csv, line 3: Ann has the name of r.csv, line 2."),
            (b"\xff\xfe\x00", "r.csv: cannot be read: "),
        ],
    )
    def test_a_bad_file_is_one_line(self, content, says):
        with pytest.raises(CannotGrade) as error:
            roster(content)
        assert says in str(error.value)
        assert "\n" not in str(error.value)


def hand_in(name: str, system="", id="") -> HandedIn:
    return HandedIn(f"{name} ({id})" if name == "twice" else name, system, id, name)


def class_of(text: str, *students: HandedIn) -> tuple[dict[str, str], list[str]]:
    """Name in the class → the hand-in's name, or "" where nothing was handed in; lines."""
    found, lines = enrolled(students, roster(text))
    handed_in = {student.student for student in students}
    return {one.name: one.student.student if one.student.student in handed_in else "" for one in found}, lines


class TestWhoseIsWhose:
    def test_by_id_whatever_the_name(self):
        assert class_of(MOODLE, hand_in("Z. v. Dam", "moodle", "4711")) == (
            {"Ann Lee": "", "Zoë van Dam": "Z. v. Dam"},
            [],
        )
        assert class_of(CANVAS, hand_in("liddellalice", "canvas", "123"), hand_in("vandamzoe", "canvas", "124")) == (
            {"Liddell, Alice": "liddellalice", "van Dam, Zoë": "vandamzoe"},
            [],
        )

    @pytest.mark.parametrize(
        "name", ["Alice Liddell", "alice_liddell", "Liddell, Alice", "liddellalice", "al123", "123"]
    )
    def test_by_name_or_login(self, name):
        assert class_of(CANVAS, hand_in(name))[0] == {"Liddell, Alice": name, "van Dam, Zoë": ""}

    def test_no_name_takes_what_an_id_has(self):
        found, (line,) = class_of("id,name\n1,Ann\n", hand_in("Ann"), hand_in("A. Lee", "", "1"))
        assert found == {"Ann (1)": "A. Lee", "Ann (not on the roster)": "Ann"}
        assert "Both are graded" in line

    def test_two_of_one_name_are_told_apart_by_id_and_never_by_name(self):
        two_anns = "id,name\n1,Ann Lee\n2,Ann Lee\n"
        two = [hand_in("twice", "moodle", "1"), hand_in("twice", "moodle", "2")]
        assert class_of(two_anns, *two)[0] == {"Ann Lee (1)": "twice (1)", "Ann Lee (2)": "twice (2)"}
        found, lines = class_of(two_anns, hand_in("Ann Lee"))
        assert found == {"Ann Lee (not on the roster)": "Ann Lee", "Ann Lee (1)": "", "Ann Lee (2)": ""}
        assert "Ann Lee: not on the roster (several students are called Ann Lee; give the id). " in lines[-1]

    def test_who_is_not_on_the_roster_is_in_the_class_and_has_a_line(self):
        found, (line,) = class_of(MOODLE, hand_in("Bob", "moodle", "9"))
        assert found == {"Ann Lee": "", "Bob": "Bob", "Zoë van Dam": ""}
        assert line == "Bob: not on the roster (no student is called Bob). The hand-in is graded all the same."
