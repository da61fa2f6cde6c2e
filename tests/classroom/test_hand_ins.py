"""Whose a hand-in is, and the files in it; the roster."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from tutorlib.classroom import CannotGrade, hand_ins
from tutorlib.classroom.hand_ins import MOST_NOTEBOOKS, HandedIn, files_of, handed_in
from tutorlib.classroom.roster import Listed, enrolled, read_roster


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(name))


def zip_of(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def read(folder: Path) -> dict[str, dict[str, bytes]]:
    """Student → the place of each notebook → what is in it, the oldest first."""
    return {one.student: dict(files_of(one).notebooks) for one in handed_in(folder)[0]}


def found(folder: Path) -> dict[str, list[str]]:
    """Student → where each notebook is."""
    return {student: list(files) for student, files in read(folder).items()}


def notes(folder: Path) -> list[str]:
    return [line for one in handed_in(folder)[0] for line in files_of(one).notes]


@pytest.mark.parametrize(
    ("name", "student", "system", "id"),
    [
        ("alice/00_start.ipynb", "alice", "", ""),
        ("alice/week 1/deep/00_start.ipynb", "alice", "", ""),
        ("alice.ipynb", "alice", "", ""),
        ("alice_00_start.ipynb", "alice", "", ""),
        ("Zoë van Dam_4711_assignsubmission_file_/00_start.ipynb", "Zoë van Dam", "moodle", "4711"),
        ("Zoë van Dam_4711_assignsubmission_file_00_start.ipynb", "Zoë van Dam", "moodle", "4711"),
        ("smithjohn_123_4567_00_start.ipynb", "smithjohn", "canvas", "123"),
        ("smithjohn_LATE_123_4567_00_start-1.ipynb", "smithjohn", "canvas", "123"),
        ("=cmd()/00_start.ipynb", "=cmd()", "", ""),
        ("a\nb\x1b[2J/00_start.ipynb", "a b [2J", "", ""),
        ("Jos\udce9/00_start.ipynb", "Jos\\xe9", "", ""),
    ],
)
def test_whose_it_is(tmp_path, name, student, system, id):
    write(tmp_path, name)
    ((one,), stray) = handed_in(tmp_path)
    assert (one.student, one.system, one.id, stray) == (student, system, id, [])
    assert len(files_of(one).notebooks) == 1


def test_two_spellings_of_a_name_are_one_student_s(tmp_path):
    write(tmp_path, "Zoë/00_start.ipynb", "Zoe\u0308/01_layouts.ipynb", "Jos\udce9/a.ipynb", "Jos\udce8/a.ipynb")
    counted = {student: len(files) for student, files in found(tmp_path).items()}
    assert counted == {"Jos\\xe8": 1, "Jos\\xe9": 1, "Zoë": 2}


def test_two_students_of_one_name_stay_two(tmp_path):
    write(tmp_path, "smithjohn_1_10_00_start.ipynb", "smithjohn_2_11_00_start.ipynb")
    assert list(found(tmp_path)) == ["smithjohn (1)", "smithjohn (2)"]


def test_canvas_counts_attempts_and_late_is_said(tmp_path):
    write(tmp_path, "smith_LATE_1_20_00_start-1.ipynb", "smith_1_10_00_start.ipynb")
    os.utime(tmp_path / "smith_1_10_00_start.ipynb", (9e9, 9e9))
    assert found(tmp_path) == {"smith": ["smith_1_10_00_start.ipynb", "smith_LATE_1_20_00_start-1.ipynb"]}
    assert notes(tmp_path) == ["smith_LATE_1_20_00_start-1.ipynb: handed in late."]


def test_of_one_age_the_course_s_own_name_comes_last(tmp_path):
    write(tmp_path, "alice/00_start.ipynb", "alice/00_start-Copy1.ipynb")
    for path in (tmp_path / "alice").iterdir():
        os.utime(path, (1e9, 1e9))
    assert found(tmp_path) == {"alice": ["alice/00_start-Copy1.ipynb", "alice/00_start.ipynb"]}


def test_what_nobody_wrote_is_ignored(tmp_path):
    write(tmp_path, "alice/00_start.ipynb", "alice/.ipynb_checkpoints/00_start-checkpoint.ipynb")
    write(tmp_path, "alice/._00_start.ipynb", "__MACOSX/alice/00_start.ipynb", ".git/x.ipynb", "out/report.ipynb")
    students, stray = handed_in(tmp_path, without=tmp_path / "out")
    assert [(one.student, len(files_of(one).notebooks)) for one in students] == [("alice", 1)]
    assert stray == []


def test_who_hands_in_no_notebook_is_there(tmp_path):
    (tmp_path / "bob").mkdir()
    write(tmp_path, "carol/answers.py", "dave/work.rar")
    assert found(tmp_path) == {"bob": [], "carol": [], "dave": []}
    assert notes(tmp_path) == [
        "not taken along: carol/answers.py. The grader takes notebooks.",
        "dave/work.rar: an archive that is not opened; ask for the notebooks themselves.",
    ]


def test_a_file_that_is_nobody_s_has_a_line(tmp_path):
    write(tmp_path, "alice/00_start.ipynb", "00_start.ipynb", "grades.xlsx")
    assert handed_in(tmp_path)[1] == [
        "00_start.ipynb: whose is it? Put it into a folder that has its student's name.",
        "grades.xlsx: neither a notebook nor a zip; left out.",
    ]


# Zips -----------------------------------------------------------------------------------------------------------


def test_a_zip_is_a_folder(tmp_path):
    (tmp_path / "alice.zip").write_bytes(zip_of({"mine/00_start.ipynb": b"1", "mine/.x.ipynb": b"2", "a.txt": b""}))
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "all.ZIP").write_bytes(zip_of({"00_start.ipynb": b"2", "inner.zip": zip_of({"x.ipynb": b"3"})}))
    assert read(tmp_path) == {
        "alice": {"alice.zip/mine/00_start.ipynb": b"1"},
        "bob": {"bob/all.ZIP/00_start.ipynb": b"2"},
    }
    assert "bob/all.ZIP/inner.zip: an archive that is not opened; ask for the notebooks themselves." in notes(tmp_path)


def test_no_zip_reaches_out_of_itself_or_fills_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_ins, "LARGEST_NOTEBOOK", 2**20)
    bomb = zip_of({"../../slip.ipynb": b"1", "/abs.ipynb": b"2", "bomb.ipynb": bytes(2**24), "good.ipynb": b"{}"})
    assert len(bomb) < 2**17
    (tmp_path / "eve.zip").write_bytes(bomb)
    assert read(tmp_path) == {
        "eve": {"eve.zip/abs.ipynb": b"2", "eve.zip/good.ipynb": b"{}", "eve.zip/slip.ipynb": b"1"}
    }
    assert notes(tmp_path) == ["eve.zip/bomb.ipynb: larger than 1 MB."]


def test_who_packs_another_s_name_answers_for_nobody_else(tmp_path):
    label = "Bob_2_assignsubmission_file_/00_start.ipynb"
    (tmp_path / "eve.zip").write_bytes(zip_of({label: b"forged"}))
    write(tmp_path, label)
    assert found(tmp_path) == {"Bob": [label], "eve": [f"eve.zip/{label}"]}


def test_an_environment_in_a_zip_does_not_count(tmp_path):
    environment = {f"venv/lib/python3.11/site-packages/p/{n}.py": b"" for n in range(5000)}
    hidden = {f".git/{n}": b"" for n in range(5000)}
    (tmp_path / "ann.zip").write_bytes(zip_of({**environment, **hidden, "00_start.ipynb": b"{}"}))
    assert found(tmp_path) == {"ann": ["ann.zip/00_start.ipynb"]}
    assert notes(tmp_path) == []


def test_of_thousands_of_files_the_newest_are_looked_at(tmp_path):
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve" / "all.zip").write_bytes(zip_of({f"{n}.ipynb": b"{}" for n in range(400)}))
    ((eve,), _) = handed_in(tmp_path)
    files = files_of(eve)
    assert (len(files.notebooks), len(files.notes)) == (MOST_NOTEBOOKS, 1)


def test_what_is_damaged_in_a_zip_has_a_line(tmp_path):
    content = zip_of({"bad.ipynb": os.urandom(1000), "good/00_start.ipynb": b"{}"})
    broken = bytearray(content)
    at = content.index(b"bad.ipynb") + 200
    broken[at : at + 20] = bytes(20)
    (tmp_path / "alice.zip").write_bytes(broken)
    assert found(tmp_path) == {"alice": ["alice.zip/good/00_start.ipynb"]}
    (line,) = notes(tmp_path)
    assert line == "alice.zip/bad.ipynb: damaged, or locked with a password; it cannot be unpacked."


# What is no file ------------------------------------------------------------------------------------------------


def test_no_link_is_followed_and_no_pipe_opened(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    eve = tmp_path / "class" / "eve"
    eve.mkdir(parents=True)
    (eve / "00_start.ipynb").symlink_to(tmp_path / "secret.txt")
    (eve / "folder").symlink_to(tmp_path)
    os.mkfifo(eve / "01_layouts.ipynb")
    assert found(tmp_path / "class") == {"eve": []}
    assert sorted(notes(tmp_path / "class")) == [
        "eve/00_start.ipynb: a link, which is not followed.",
        "eve/01_layouts.ipynb: neither a file nor a folder.",
        "not taken along: eve/folder. The grader takes notebooks.",
    ]


# The roster ----------------------------------------------------------------------------------------------------------

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
