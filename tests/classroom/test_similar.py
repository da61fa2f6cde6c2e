"""Similar answers: a copy in disguise is found among many answers, and what a class has in common is not."""

import random
import re

import pytest

from tests.classroom.many_answers import class_of, disguised, many_answers
from tutorlib.classroom import class_command
from tutorlib.classroom.reports import student_file
from tutorlib.classroom.similar_answers import MOST_PAIRS, given_statements, similar, write_similar
from tutorlib.classroom.statements import MOST, statements
from tutorlib.course.source import parse
from tutorlib.exercises import of_notebook
from tutorlib.paths import SOLUTIONS

EXERCISES = [one.id for name in ("00_start", "01_layouts") for one in of_notebook(name)]
COPY = ("student 07", "student 31")


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


def test_one_long_copied_answer_among_many_is_found():
    answers = many_answers(40, EXERCISES, 1)
    longest = max(EXERCISES, key=lambda id: len(answers[COPY[0]][id]))
    answers[COPY[1]][longest] = disguised(answers[COPY[0]][longest], random.Random(1))
    (pair,) = similar(class_of(answers))
    assert (pair.students, pair.alike[0].exercise) == (COPY, longest)


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
    assert all(statements(text).keys() <= given_statements("01")[id] for id, text in solved.items())


GIVE_UPS = ("return None", "pass", "...", "return", "return 0", 'raise NotImplementedError("no idea")')


@pytest.mark.parametrize("stub", [*(f"\n    {one}" for one in GIVE_UPS), " pass"])
def test_who_gives_up_is_like_nobody(stub):
    """Not one of these, nor all of them in turn: the page's own line is the only other one."""
    answers = many_answers(40, EXERCISES, 3)
    for student in COPY:
        answers[student] = {id: f"def answer(shape, stride: tuple):{stub}  # gave up" for id in EXERCISES}
    assert similar(class_of(answers)) == []


def test_the_page_marks_what_both_have(tmp_path):
    answers = class_with_a_copy(1)
    hostile = "\n</pre><script>alert(1)</script>"
    answers[COPY[0]]["01.1"] += hostile
    page = write_similar(class_of(answers), tmp_path).read_text()
    assert "<script" not in page
    assert "1 pair stands out" in page
    marked = re.findall('<span class="hll">(.*?)\n</span>', page, re.DOTALL)
    assert len(marked) > 20
    assert not any("# " in line and "=" not in line and ":" not in line and "(" not in line for line in marked)


def test_nothing_of_it_is_on_a_students_page(tmp_path):
    classroom = class_of(class_with_a_copy(1))
    class_command.write_results(classroom, tmp_path)
    assert "similar.html" in (tmp_path / "index.html").read_text()
    for grade in classroom.grades:
        page = student_file(grade, tmp_path).read_text()
        assert not re.search("similar|alike", page)
        assert not [other for other in COPY if other != grade.name and other in page]


def test_a_large_ring_does_not_make_the_page_larger_than_it_may_be(tmp_path):
    answers = many_answers(200, EXERCISES[:4], 5)
    for n in range(16):
        answers[f"student {2 * n:02}"] = class_with_a_copy(6)[COPY[0]]
    page = write_similar(class_of(answers), tmp_path).read_text()
    assert page.count("<h2>") == MOST_PAIRS
    assert f"{16 * 15 // 2 - MOST_PAIRS} other pairs are not shown" in page


@pytest.mark.parametrize(
    "answers", [{"a": {}}, {"a": {"00.1": ""}, "b": {}}, {"a": {"00.1": "x = 1"}, "b": {"00.1": "x = 1"}}]
)
def test_a_small_class_has_nothing_to_stand_out_from(answers, tmp_path):
    assert "No pair of students stands out" in write_similar(class_of(answers), tmp_path).read_text()


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
    assert statements(text).keys() == statements(same).keys()


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
    assert statements(text).keys() != statements(other).keys()


@pytest.mark.parametrize(
    "text", ["(" * 9999, '"""', "def", "\x00\u202e", "f'{'", "x = 1\n" * 9999, "a = 1; " * 9999, ""]
)
def test_any_text_has_statements(text):
    assert len(statements(text)) <= MOST
    assert len(statements("\n".join(f"x = {n}" for n in range(2 * MOST)))) == MOST
