"""The reports: mistakes grouped, speeds in a board, names that attack, and how they look in a browser."""

import html
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser import opened
from tests.classroom.test_similar import class_of, class_with_a_copy
from tutorlib.checking.exercise import Outcome
from tutorlib.classroom.files import plain, report_name, unescaped
from tutorlib.classroom.grade_student import LONGEST_ANSWER, answer_texts
from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.reports import (
    MOST_MARKUP,
    board,
    class_page,
    highlighted,
    mistakes,
    render,
    student_page,
    visible,
    write_reports,
)
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.similar_answers import similar
from tutorlib.exercises import of_notebook
from tutorlib.grading.submission import CodeCell, Submitted
from tutorlib.measuring.results import all_results

ATTACK = "<img src=x onerror=alert(1)>&'\"</script><script>alert(2)</script>"
HOPPER = "13_hopper_gemm"


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
    """Notebook 13 as it was measured, by this factor slower."""
    measured = all_results()[0].exercises
    outcomes = []
    for exercise in of_notebook(HOPPER):
        found = [one.as_json() for one in measured[exercise.id].measurements[:1]]
        told = [one | {"ratio": one["ratio"] / slower, "tflops": one["tflops"] / slower} for one in found]
        outcomes.append(exercise.outcome("passed", exercise.points, "", told[0] if told else None))
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


def test_mistakes_are_grouped_by_their_words(classroom):
    assert [(one.exercise.id, one.students) for one in mistakes(classroom)] == [
        ("00.1", ("ann", "bob")),
        ("00.1", ("=cmd()",)),
    ]


def test_the_board_has_the_fastest_first(classroom):
    exercises, rows = board(classroom)
    assert [one.id for one in exercises] == list(all_results()[0].timed("13"))
    assert [student for student, _ in rows] == ["ann", "bob", "cy", "=cmd()"]


def test_all_is_escaped(classroom):
    pages = [class_page(classroom)]
    pages += [student_page([grade], classroom.notebooks) for grade in classroom.grades]
    for page in pages:
        assert ATTACK not in page
        assert "<script" not in page
        assert "<img" not in page
    assert "&lt;img src=x" in pages[0]
    assert "of cuBLAS" in pages[1]


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
    one = submitted(("00.1", stub), ("", "x"), ("00.1", "def f():"), ("00.1", "    return 1"), ("00.1", "def f():"))
    assert list(answer_texts([one])) == [("00.1", "def f():\n    return 1")]
    assert list(answer_texts([submitted(("00.1", stub), ("00.2", "\ud800 ü"))])) == [("00.1", stub), ("00.2", "? ü")]


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
