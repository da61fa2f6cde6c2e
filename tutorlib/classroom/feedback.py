"""Zips that return the reports through Moodle and Canvas; each report has the name that the system expects.

Moodle finds a student by the number in the folder's name, `Full Name_4711_assignsubmission_file_`, and keeps what is
behind it as the file's name (mod/assign/feedback/file/importziplib.php, is_valid_filename_for_import). Canvas finds one
by the first two numbers of a file's name, the student's and that of one of the uploads, `name_123_4567_…`
(app/models/abstract_assignment.rb, infer_comment_context_from_filename).
"""

import io
import re
import zipfile
from pathlib import Path

from tutorlib.classroom.exports import write_whole
from tutorlib.classroom.grades import Classroom, Grade
from tutorlib.classroom.handed_in import CANVAS, MOODLE, System, legible
from tutorlib.classroom.reports import student_file

REPORT = "report.html"  # always the same, so that Moodle replaces an earlier one
SYSTEMS: tuple[System, ...] = ("moodle", "canvas")


def write_feedback(classroom: Classroom, out: Path) -> list[Path]:
    """Write OUT/feedback-moodle.zip and OUT/feedback-canvas.zip, each where the class has students there.

    The reports are in OUT. Students whom the system cannot identify are left out. Raises OSError.
    """
    written = []
    for system in SYSTEMS:
        path = out / f"feedback-{system}.zip"
        names = {place: grade for grade in classroom.graded if (place := name_in_zip(grade, system))}
        if not names:
            path.unlink(missing_ok=True)  # of a class that had some
            continue
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for place, grade in names.items():
                entry = zipfile.ZipInfo(place)  # of 1980, so that the same reports give the same zip
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, student_file(grade, out).read_bytes())
        write_whole(path, packed.getvalue())
        written.append(path)
    return written


def name_in_zip(grade: Grade, system: System) -> str:
    """The name that a student's report has in the zip of this system; "" where it can have none."""
    listed, uploads = grade.enrolled.listed, grade.enrolled.student.uploads
    if listed.system != system:
        return ""
    download = legible(uploads[-1].path.name if uploads else "").replace("\\", " ")  # a folder's end to some tools
    if found := (MOODLE if system == "moodle" else CANVAS).fullmatch(download):
        return f"{download[: found.start('file')]}{'/' if system == 'moodle' else ''}{REPORT}"
    if system == "moodle" and listed.id:  # by the roster, or by an empty folder
        name = re.sub(r"[_/\\]", " ", legible(listed.name))  # Moodle splits at the first of these
        return f"{name}_{listed.id}_assignsubmission_file_/{REPORT}"
    return ""
