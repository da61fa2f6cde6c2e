"""Similar answers: a copy in disguise is found among many answers, and what a class has in common is not."""

import random
import re

import pytest

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom import class_command
from tutorlib.classroom.files import report_name
from tutorlib.classroom.gradebook import Graded, Judged, Submission
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.hand_ins import HandedIn
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.similar_answers import given_statements, similar, statements, write_similar
from tutorlib.course.source import parse
from tutorlib.exercises import of_notebook
from tutorlib.paths import SOLUTIONS, notebook_names

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
