"""The zips that give reports back, read as Moodle and Canvas read them."""

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tutorlib.classroom.exports import write_feedback
from tutorlib.classroom.files import report_name
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.hand_ins import HandedIn, handed_in
from tutorlib.classroom.roster import Listed, enrolled

MOODLE = (
    "Zoë van Dam_4711_assignsubmission_file_/00_start.ipynb",
    "Ann Lee_12_assignsubmission_file/page/00_start.ipynb",  # since Moodle 4.1
    "Ann Lee_13_assignsubmission_file_/essay.docx",
    "=cmd()_14_assignsubmission_onlinetext_/onlinetext.html",
    "Bo_15_assignsubmission_file_00_start.ipynb",  # not downloaded in folders
    "No Thing_16_assignsubmission_file_/",
)
CANVAS = (
    "liddellalice_123_4567_00_start.ipynb",
    "carrolllewis_LATE_124_4570_00_start-1.ipynb",
    "carrolllewis_124_4400_00_start.ipynb",  # an earlier one
    "dodoedgar_125_4580_work.zip",
)


def folder_of(tmp_path: Path, names: tuple[str, ...]) -> Path:
    folder = tmp_path / "handed in"
    for name in names:
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("00_start.ipynb", "{}")
        elif not name.endswith("/"):
            path.write_text("{}")
    return folder


def class_of(students: list[HandedIn], roster: Sequence[Listed] = ()) -> Classroom:
    return grades_of(enrolled(students, roster)[0], {}, ("00_start",))


def feedback(tmp_path: Path, classroom: Classroom) -> list[Path]:
    """The zips for a class whose reports say whose they are."""
    for grade in classroom.grades:
        path = tmp_path / "students" / f"{report_name(grade.name)}.html"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"the report of {grade.name}")
    return write_feedback(classroom, tmp_path)


def read_by_moodle(name: str) -> tuple[int, str, str]:
    """Participant, plugin and file: is_valid_filename_for_import of mod/assign/feedback/file/importziplib.php."""
    parts = name.split("/")
    assert not parts[-1].startswith((".", "~"))
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdecimal():
            continue
        parts.insert(0, info[4] if len(info) > 4 else "")
        return int(info[1]), "_".join(info[2:4]), "/".join(parts)
    raise AssertionError(name)


def read_by_canvas(name: str) -> tuple[str, str]:
    """Student and upload: infer_comment_context_from_filename of app/models/abstract_assignment.rb."""
    assert "/" not in name
    assert not name.startswith("._")
    parts = [part for part in name.split("_") if part != "LATE"]
    assert not parts[-1].startswith("link")
    student, upload, *_ = [part for part in parts if part.isdecimal()]
    return student, upload


def test_moodle_finds_every_student(tmp_path):
    students, _ = handed_in(folder_of(tmp_path, MOODLE))
    (path,) = feedback(tmp_path, class_of(students))
    assert path.name == "feedback-moodle.zip"
    with zipfile.ZipFile(path) as archive:
        found = {read_by_moodle(name): archive.read(name).decode() for name in archive.namelist()}
        assert "Zoë van Dam_4711_assignsubmission_file_/report.html" in archive.namelist()
        assert archive.testzip() is None
    assert {id: (plugin, file.strip("/")) for id, plugin, file in found} == {
        **{id: ("assignsubmission_file", "report.html") for id in (4711, 12, 13, 15, 16)},
        14: ("assignsubmission_onlinetext", "report.html"),
    }
    assert {text for (id, *_), text in found.items() if id in (12, 13)} == {
        "the report of Ann Lee (12)",
        "the report of Ann Lee (13)",
    }


def test_canvas_finds_the_newest_upload_of_every_student(tmp_path):
    students, _ = handed_in(folder_of(tmp_path, CANVAS))
    (path,) = feedback(tmp_path, class_of(students))
    assert path.name == "feedback-canvas.zip"
    with zipfile.ZipFile(path) as archive:
        assert [read_by_canvas(name) for name in archive.namelist()] == [
            ("124", "4570"),
            ("125", "4580"),
            ("123", "4567"),
        ]
        assert "carrolllewis_LATE_124_4570_report.html" in archive.namelist()
        assert archive.read("liddellalice_123_4567_report.html") == b"the report of liddellalice"


def test_with_a_roster_everybody_on_it_whom_the_system_can_find_has_a_report(tmp_path):
    """Who handed in nothing, and whose folder has a name of its own."""
    listed = (Listed("Alice Liddell", "4711"), Listed("Zoë_van Dam", "4712"), Listed("No Id"))
    own = HandedIn("4711", "", "", written="4711")
    for system, found in (("moodle", {4711, 4712}), ("canvas", set())):
        roster = [replace(one, system=system) for one in listed]
        written = feedback(tmp_path, class_of([own], roster))
        names = [name for path in written for name in zipfile.ZipFile(path).namelist()]
        assert {read_by_moodle(name)[0] for name in names} == found
