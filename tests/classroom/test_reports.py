"""The reports, the zips that return them, and similar answers."""

import html
import random
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser import opened
from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import class_command
from tutorlib.classroom.class_run import LONGEST_ANSWER, answer_texts
from tutorlib.classroom.exports import write_feedback
from tutorlib.classroom.files import plain, report_name, unescaped
from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.hand_ins import HandedIn, handed_in
from tutorlib.classroom.reports import (
    MOST_MARKUP,
    class_page,
    highlighted,
    render,
    student_page,
    visible,
    write_reports,
)
from tutorlib.classroom.roster import Listed, enrolled
from tutorlib.classroom.similar_answers import given_statements, similar, statements, write_similar
from tutorlib.course.source import parse
from tutorlib.exercises import of_notebook
from tutorlib.grading.submission import CodeCell, Submitted
from tutorlib.measuring.results import all_results
from tutorlib.paths import SOLUTIONS, notebook_names

ATTACK = "<img src=x onerror=alert(1)>&'\"</script><script>alert(2)</script>"
HOPPER = "14_hopper_gemm"


def submission(student: str, *outcomes: Outcome, **fields) -> Submission:
    judged = tuple(Judged(one, float(one.max_points)) for one in outcomes)
    names = {one.id[:2]: name for one in outcomes for name in ("00_start", HOPPER) if name[:2] == one.id[:2]}
    answers = tuple((one.id, f"{ATTACK}\nx = '{'y' * 999}'") for one in outcomes)
    notebooks = tuple((name, "x.ipynb") for name in names.values())
    graded = Graded(judged, notebooks, (f"{ATTACK}: late",), 9.0, answers=answers, **fields)
    return Submission(student, "", None, 7, "2026-01-01T00:00:00+00:00", graded)


def start(message: str, points: float = 0) -> Outcome:
    (exercise,) = of_notebook("00_start")
    return exercise.outcome("passed" if points == exercise.points else "failed", points, message)


def hopper(slower: float) -> list[Outcome]:
    """Notebook 14 as it was measured, by this factor slower."""
    measured = all_results()[0].exercises
    outcomes = []
    for exercise in of_notebook(HOPPER):
        found = [one.as_json() for one in measured[exercise.id].measurements[:1]]
        told = [one | {"ratio": one["ratio"] / slower, "tflops": one["tflops"] / slower} for one in found]
        outcomes.append(exercise.outcome("passed", exercise.points, "", measurement=told[0] if told else None))
    return outcomes


@pytest.fixture
def classroom() -> Classroom:
    names = ("ann", "bob", "cy", "=cmd()", ATTACK)
    messages = (
        f"1 of 3 cases right\n{ATTACK} gives 4",
        f"2 of 3 cases right\n{ATTACK} gives 5",
        "not written yet",
        "x",
    )
    submissions = {
        name: submission(name, start(message), *hopper(1 + n / 10))
        for n, (name, message) in enumerate(zip(names, messages, strict=False))
    }
    submissions[ATTACK] = submission(ATTACK, failed=f"ended the grader: {ATTACK}")
    students = [HandedIn(name, "", "") for name in names]
    return grades_of(enrolled(students, [])[0], submissions, None, [f"{ATTACK}: whose is it?"])


def test_all_is_escaped(classroom):
    pages = [class_page(classroom)]
    pages += [student_page([grade], classroom.notebooks) for grade in classroom.grades]
    for page in pages:
        assert ATTACK not in page
        assert "<script" not in page
        assert "<img" not in page
    assert "&lt;img src=x" in pages[0]


def test_each_verdict_has_the_answer_beside_it(classroom):
    page = student_page(classroom.grades[:1], classroom.notebooks)
    rows = [row for row in page.split("<tr") if "y" * 999 in row]
    assert len(rows) == len(classroom.grades[0].judged)
    assert all(row.startswith(' class="answer"') and "onerror" in row for row in rows)
    unwritten = student_page(classroom.grades[2:3], classroom.notebooks)
    assert unwritten.count("y" * 999) == len(rows) - 1


def test_an_exercise_s_page_has_all_answers_by_verdict(classroom, tmp_path):
    write_reports(classroom, tmp_path)
    page = (tmp_path / "exercise" / "00.1.html").read_text()
    assert re.findall("<h3><a href=.*?>(.*?)</a>", page) == ["ann", "bob", "=cmd()", "cy"]  # cy's is not written
    assert re.findall('<h2><i class="chip (.*?)">', page) == ["failed", "unwritten"]
    assert page.count("y" * 999) == 3
    assert "<script" not in page
    assert len(list((tmp_path / "exercise").iterdir())) == len(classroom.exercises)
    assert 'href="exercise/00.1.html"' in (tmp_path / "index.html").read_text()
    assert "exercise/" not in (tmp_path / "students" / f"{report_name(classroom.grades[0].name)}.html").read_text()


@pytest.mark.parametrize("before", ["", " ", "\xa0", "\u3000", "\u200b", "\ufeff", "\t", "\r", "\n"])
@pytest.mark.parametrize("sign", "=+-@＝＋－＠﹦﹢﹣﹫⁼\t\r|%")
def test_no_text_is_a_formula(before, sign):
    text = f"{before}{sign}cmd()"
    assert plain(text) == f"'{text}"
    assert unescaped(plain(text)) == text


MARKUP = "</pre><script>alert(1)</script>\n'</details>' & \"<img src=x onerror=alert(2)>\"\n"
HOSTILE = MARKUP + "#\x1b[31m\x00\u202egnp.exe\u2028x\r\ny"
LONG = ("x = 1\n" * 2**19, "y" * 2**21, "&" * 2**21, "@" * 2**21, '"' * 2**21, "\u202e" * 2**21, "f'{" * 2**20)


def text_of(markup: str) -> str:
    """What a reader sees of it."""
    return html.unescape(re.sub("<[^>]*>", "", markup))


def test_hostile_code_is_text_and_nothing_of_it_hides():
    shown = highlighted(HOSTILE)
    assert set(re.findall("<[^>]*>", shown)) <= {"</span>", *re.findall('<span class="[a-z0-9]+">', shown)}
    seen = text_of(shown)
    assert "</pre><script>alert(1)</script>" in seen
    assert "#‹U+001B›[31m‹U+0000›‹U+202E›gnp.exe‹U+2028›x\ny" in seen
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl")]


@pytest.mark.parametrize("text", LONG, ids=lambda text: ascii(text[:3]))
def test_two_million_characters_are_a_page_of_some_hundred_thousand(text):
    shown = highlighted(text)
    assert len(shown) <= MOST_MARKUP * LONGEST_ANSWER + 100
    assert text_of(shown).rstrip("\n") == visible(text).rstrip("\n")


def submitted(*cells: tuple[str, str]) -> Submitted:
    return Submitted(Path("x"), "00_start", tuple(CodeCell(str(n), id, text) for n, (id, text) in enumerate(cells)))


def test_the_text_of_an_answer_is_that_of_its_cells():
    stub = 'raise NotImplementedError("Exercise 00.1")'
    one = submitted(("00.1", stub), ("", "x"), ("00.1", "def f():"), ("00.1", "    return '\ud800 ü'"))
    assert list(answer_texts([one])) == [("00.1", "def f():\n    return '? ü'")]
    assert list(answer_texts([submitted(("00.1", "# nothing yet"))])) == []


@pytest.mark.browser
def test_in_a_browser_nothing_runs_and_nothing_is_wider_than_the_page(classroom, tmp_path, chromium):
    written = write_reports(classroom, tmp_path)
    (pair,) = similar(class_of(class_with_a_copy(1)))
    worst = replace(pair, alike=tuple(replace(one, texts=(ATTACK * 99,) * 2) for one in pair.alike))
    similar_page = tmp_path / "similar.html"
    similar_page.write_text(render("similar.html", pairs=[worst], shown=1, most=9, failed=""))
    with opened(chromium) as browser:
        page = browser.new_page(viewport={"width": 420, "height": 800})
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        for path in (*written, similar_page):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 420
        page.goto(written[0].as_uri())
        for n in range(len(classroom.grades)):
            page.locator("a").nth(n).click()
            assert page.locator("h1").inner_text() == classroom.grades[n].name
            page.go_back()
    assert said == []


# Similar answers -----------------------------------------------------------------------------------------------------

EXERCISES = [one.id for name in ("00_start", "01_layouts") for one in of_notebook(name)]
COPY = ("student 07", "student 31")


def written(rng: random.Random, size: int) -> str:
    """An answer of `size` statements, each one of a few common ones or, sometimes, one that no other student has."""
    lines = ["def answer(shape, stride):"]
    for n in range(size):
        common = 10 * n + rng.choices(range(5), [2**-way for way in range(5)])[0]
        lines.append(f"    a = b + {rng.randrange(10**6) if rng.random() < 0.15 else common}")
    return "\n".join(lines)


def disguised(text: str, rng: random.Random) -> str:
    """A copy with other names, remarks and blank lines, in another order."""
    head, *lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join([head, *(f"{line.replace('a =', 'total =')}  # see the page\n" for line in lines)])


def class_of(answers: dict[str, dict[str, str]]) -> Classroom:
    """Student → exercise → text, as if all of it had been graded."""
    numbers = sorted({id[:2] for texts in answers.values() for id in texts})
    notebooks = tuple(name for name in notebook_names() if name[:2] in numbers)
    judged = tuple(
        Judged(Outcome(one.id, one.title, "passed", one.points, one.points, "✓"), one.points)
        for name in notebooks
        for one in of_notebook(name)
    )
    submissions = {}
    for student, texts in answers.items():
        graded = Graded(judged, tuple((name, "x.ipynb") for name in notebooks), answers=tuple(texts.items()))
        submissions[student] = Submission(student, "", None, 1, "2026-01-01T00:00:00+00:00", graded)
    students, _ = enrolled([HandedIn(student, "", "") for student in answers], ())
    return grades_of(students, submissions, notebooks)


def many_answers(students: int, exercises: list[str], seed: int) -> dict[str, dict[str, str]]:
    """Each student's answers, written alone; a third of the answers are short."""
    rng = random.Random(seed)
    sizes = {id: rng.choice((3, 7, 10)) for id in exercises}
    return {f"student {n:02}": {id: written(rng, sizes[id]) for id in exercises} for n in range(students)}


def class_with_a_copy(seed: int, copied: int = len(EXERCISES), exercises=EXERCISES) -> dict[str, dict[str, str]]:
    answers, rng = many_answers(40, exercises, seed), random.Random(seed)
    for id in exercises[:copied]:
        answers[COPY[1]][id] = disguised(answers[COPY[0]][id], rng)
    return answers


@pytest.mark.parametrize("seed", range(4))
def test_a_copied_pair_is_first_and_no_other_is_listed(seed):
    (pair,) = similar(class_of(class_with_a_copy(seed)))
    assert pair.students == COPY
    assert {one.exercise for one in pair.alike} == set(EXERCISES)
    assert min(one.likeness for one in pair.alike) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_a_class_that_wrote_alone_has_no_pair(seed):
    assert similar(class_of(many_answers(40, EXERCISES, seed))) == []


def test_seven_students_are_enough():
    answers = {student: texts for student, texts in class_with_a_copy(1).items() if student <= "student 05"}
    assert similar(class_of(answers)) == []
    answers |= {"student 06": {id: disguised(text, random.Random(1)) for id, text in answers["student 01"].items()}}
    (pair,) = similar(class_of(answers))
    assert pair.students == ("student 01", "student 06")


def test_an_approach_that_a_quarter_of_the_class_chose_is_no_copy():
    answers = many_answers(40, EXERCISES, 2)
    other = "def answer(shape, stride):\n" + "\n".join(f"    x{n} = stride[{n}] ** {n + 2}" for n in range(12))
    for student in sorted(answers)[::4]:
        answers[student]["01.1"] = other
    assert similar(class_of(answers)) == []


def test_the_solution_and_the_page_are_no_evidence():
    solved = {cell.exercise: cell.solved for cell in parse(SOLUTIONS / "01_layouts.py") if cell.role == "answer"}
    answers = many_answers(40, EXERCISES, 3)
    for student in COPY:
        answers[student] |= solved
    assert similar(class_of(answers)) == []
    assert all(statements(text) <= given_statements("01")[id] for id, text in solved.items())


GIVE_UPS = ("return None", "pass", "...", "return", "return 0", 'raise NotImplementedError("no idea")')


@pytest.mark.parametrize("stub", [*(f"\n    {one}" for one in GIVE_UPS), " pass"])
def test_who_gives_up_is_like_nobody(stub):
    """Not one of these, nor all of them in turn: the page's own line is the only other one."""
    answers = many_answers(40, EXERCISES, 3)
    for student in COPY:
        answers[student] = {id: f"def answer(shape, stride: tuple):{stub}  # gave up" for id in EXERCISES}
    assert similar(class_of(answers)) == []


def test_the_page_has_both_answers_and_nothing_of_them_runs(tmp_path):
    answers = class_with_a_copy(1)
    hostile = "\n</pre><script>alert(1)</script>"
    answers[COPY[0]]["01.1"] += hostile
    page = write_similar(class_of(answers), tmp_path).read_text()
    assert "<script" not in page
    assert "1 pair stands out" in page
    assert page.count('<pre class="code">') > 2


def test_nothing_of_it_is_on_a_students_page(tmp_path):
    classroom = class_of(class_with_a_copy(1))
    class_command.write_results(classroom, tmp_path)
    assert "similar.html" in (tmp_path / "index.html").read_text()
    for grade in classroom.grades:
        page = (tmp_path / "students" / f"{report_name(grade.name)}.html").read_text()
        assert not re.search("similar|alike", page)
        assert not [other for other in COPY if other != grade.name and other in page]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("total = 0  # sum", "s=0"),
        ("def f(a,\n      b):\n    '''Doc.'''\n    return a + b", "def g(x, y): \n\n  return x + y"),
        ("x = 1; y = 2", "y = 2\nx = 1"),
        ('x = r"""\nint i = 0; // zero\nauto t = ct::bid();\n"""', 'y = r"""\n auto u = ct::bid();\n int j = 0;\n"""'),
    ],
)
def test_a_disguise_leaves_the_statements_as_they_are(text, same):
    assert statements(text) == statements(same)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x = 1", "x = 2"),
        ("x = a + b", "x = a - b"),
        ("x = a.size", "x = a.rank"),
        ("x = len(a)", "x = sum(a)"),
        ('x = r"""\nint i = ct::bid();\n"""', 'x = r"""\nint i = ct::num();\n"""'),
    ],
)
def test_another_statement_is_another(text, other):
    assert statements(text) != statements(other)


# Zips for Moodle and Canvas ------------------------------------------------------------------------------------------

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


def graded_class(students: list[HandedIn], roster: Sequence[Listed] = ()) -> Classroom:
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
    (path,) = feedback(tmp_path, graded_class(students))
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
    (path,) = feedback(tmp_path, graded_class(students))
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
        written = feedback(tmp_path, graded_class([own], roster))
        names = [name for path in written for name in zipfile.ZipFile(path).namelist()]
        assert {read_by_moodle(name)[0] for name in names} == found
