"""Time to solve through `tutor class`: three students with known tries, and one whose file lies about everything."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.classroom.a_class import RIGHT, points_in
from tests.trial_course import Course, make_course
from tutorlib.notebook.attempts import text_of_tries
from tutorlib.notebook.progress import Tried

NOON = 1_767_268_800
SCRIPT = "<script>alert(1)</script>"
MINUTES = {  # student → exercise → minutes after noon of each try; of a negative number it is a wrong one
    "ann": {1: (-1, 4), 2: (10,), 3: (-70, 75)},
    "bob": {1: (-1, 2), 2: (22,)},
    "cy": {1: (-1, -10, 21), 2: (-30, 40)},
}
TIMES = {  # by hand: exercise → minutes
    "ann": {1: 3, 2: 6, 3: 5},
    "bob": {1: 1, 2: 20},
    "cy": {1: 20},
}
MEDIANS = {1: "3 min of 3", 2: "13 min of 2", 3: "5 min of 1"}
LIES = [
    {"exercise": "90.1", "tries": f"{NOON}-{NOON + 60}+", "points": 99, "status": "passed", "max_points": 1},
    {"exercise": "90.2", "tries": SCRIPT},
    {"exercise": SCRIPT, "tries": f"{NOON}-{NOON + 60}+"},
    {"exercise": "90.3", "tries": f"{NOON}-{NOON + 60}+" * 10**5},
    {"exercise": "90.3", "tries": [[NOON, True]], "times": [["90.3", 1]]},
]


def leave(path: Path, said: list[dict]) -> None:
    """Put outputs as of checks into a notebook's last cell."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [{"output_type": "display_data", "data": {}, "metadata": {"tutorlib": one}} for one in said]
    notebook["cells"][-1]["outputs"] = outputs
    path.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """cy's answer to 90.2 is wrong, whatever cy's check said; eve's are all wrong."""
    course: Course = make_course(tmp_path_factory.mktemp("course"), {90: 3})
    root = tmp_path_factory.mktemp("class")
    right = {k: RIGHT.format(k=k) for k in (1, 2, 3)}
    wrong = "def answer(n):\n    return n"
    answers = {"ann": right, "bob": right, "cy": right | {2: wrong}, "eve": dict.fromkeys(right, wrong)}
    for student, texts in answers.items():
        (root / "in" / student).mkdir(parents=True)
        path = course.submit(root / "in" / student, 90, texts)
        known = MINUTES.get(student, {})
        tries = {k: [Tried(NOON + 60 * abs(minute), minute > 0) for minute in each] for k, each in known.items()}
        leave(path, [{"exercise": f"90.{k}", "tries": text_of_tries(each)} for k, each in tries.items()] or LIES)
    done = course.tutor("class", root / "in", "--out", root / "out", "--seed", 5)
    assert done.returncode == 0, done.stderr
    return root / "out"


def test_the_page_has_the_medians_of_those_who_solved_it(out):
    page = (out / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r'<td class="id">90\.(\d)</td>.*?</tr>', page, re.DOTALL)
    assert rows == ["1", "2", "3"]
    for k, shown in MEDIANS.items():
        (row,) = re.findall(rf'<td class="id">90\.{k}</td>.*?</tr>', page, re.DOTALL)
        assert shown in re.sub(r"<[^>]*>", "", row)
    assert "as their notebooks say" in page
    assert "<script" not in page


def test_the_gradebook_keeps_what_well_formed_files_say(out):
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        kept = db.execute("select student, exercise, seconds from times").fetchall()
    times = {(student, f"90.{k}"): 60.0 * minutes for student, of in TIMES.items() for k, minutes in of.items()}
    said = {("cy", "90.2"): 60.0 * 19, ("eve", "90.1"): 60.0}  # solved, they say: their answers are wrong
    assert {(student, exercise): seconds for student, exercise, seconds in kept} == times | said


def test_points_are_those_of_the_answers(out):
    points = points_in(out)
    assert {student: sum(points[student].values()) for student in points} == {"ann": 6, "bob": 6, "cy": 4, "eve": 0}
