"""Made-up answers of a large class: each written alone, out of ways to put the same thing, and copies in disguise."""

import random
import re

from tutorlib.checking.exercise import Outcome
from tutorlib.classroom.gradebook import Submission
from tutorlib.classroom.grades import Classroom, grades_of
from tutorlib.classroom.handed_in import HandedIn
from tutorlib.classroom.roster import enrolled
from tutorlib.classroom.task import Graded, Judged
from tutorlib.exercises import of_notebook
from tutorlib.paths import notebook_names

NAMES = (
    "total",
    "out",
    "result",
    "n",
    "i",
    "j",
    "k",
    "size",
    "acc",
    "sizes",
    "rows",
    "cols",
    "tmp",
    "value",
    "item",
    "part",
)
WAYS = (  # statement by statement, ways to write it; «a» and the like are names of the student's choice
    ("«a» = []", "«a» = list()", "«a» = ()", "«a» = {}", "«a», «b» = [], 0"),
    ("«b» = 0", "«b» = 1", "«b» = -1", "«b» = None", "«b» = 0.0"),
    ("«c» = len(shape)", "«c» = len(shape) - 1", "«c» = max(1, len(shape))", "«c» = sum(1 for _ in shape)"),
    ("«d» = sorted(shape)", "«d» = list(shape)", "«d» = shape[:]", "«d» = tuple(shape)", "«d» = [*shape]"),
    ("for «e», «f» in zip(shape, stride):", "for «e» in range(«c»):", "while «b» < «c»:", "for «e» in shape:"),
    ("    «a» += [«b» * 2]", "    «a».append(«b» * 2)", "    «a» = [*«a», 2 * «b»]", "    «a».extend([«b» << 1])"),
    ("    «b» += 1", "    «b» = «b» + 1", "    «b» -= -1", "    «b» = 1 + «b»"),
    ("if not «a»:", "if len(«a») == 0:", "if «a» == []:", "if «b» == 0:", "if «b» < 1:"),
    ("    return ()", "    return None", "    return 0", "    raise ValueError(shape)"),
    ("«a» = «a»[::-1]", "«a».reverse()", "«a» = list(reversed(«a»))", "«a» = [«g» for «g» in reversed(«a»)]"),
    (
        "assert «b» >= 0",
        "assert «b» == len(«a»)",
        "print(«a»)",
        "print(«b», «c»)",
        "«b» = min(«b», «c»)",
        "«b» = abs(«b»)",
    ),
    ("return tuple(«a»)", "return (*«a»,)", "return «a»", "return sum(«a»)", "return tuple(«a» + [«b»])"),
)
REMARKS = ("# first the sizes", "# see the page", "# TODO: faster?", "# this took me an hour")


def written(rng: random.Random, size: int) -> str:
    """An answer of `size` statements: most as most would put it, some in a way of one's own; own names and remarks."""
    lines = ["def answer(shape, stride):"]
    for ways in asked_for(size):
        own = f"    «{rng.choice('abc')}» = {rng.choice(('abs', 'min', 'max', 'sum'))}([«d», {rng.randrange(9)}])"
        common = "    " + rng.choices(WAYS[ways], [2**-n for n in range(len(WAYS[ways]))])[0]
        lines.append(own if rng.random() < 0.15 and not common.startswith("     ") else common)
        if rng.random() < 0.1:
            lines.append("    " + rng.choice(REMARKS))
    return named("\n".join(lines), rng)


def asked_for(size: int) -> list[int]:
    """Which statements an answer of this size has: the same for all students, as an exercise asks for one thing."""
    return sorted(random.Random(size).sample(range(len(WAYS)), size))


def named(text: str, rng: random.Random) -> str:
    names = rng.sample(NAMES, 7)
    return re.sub("«(.)»", lambda found: names["abcdefg".index(found[1])], text)


def disguised(text: str, rng: random.Random) -> str:
    """A copy with other names, remarks, blank lines, and some statements in another order."""
    head, *lines = [line for line in text.split("\n") if not line.strip().startswith("#")]
    at = [n for n in range(len(lines) - 1) if not lines[n].endswith(":") and not lines[n + 1].startswith("     ")]
    for n in rng.sample(at, min(2, len(at))):
        lines[n : n + 2] = reversed(lines[n : n + 2])
    lines = [re.sub(rf"\b({'|'.join(NAMES)})\b", r"\1_2", line) for line in lines]
    return "\n".join([head, *(f"{line}  # {rng.choice(REMARKS)[2:]}\n" for line in lines)])


def class_of(answers: dict[str, dict[str, str]]) -> Classroom:
    """Student → exercise → text, as if all of it had been graded."""
    numbers = sorted({id[:2] for texts in answers.values() for id in texts})
    notebooks = tuple(name for name in notebook_names() if name[:2] in numbers)
    submissions = {}
    for student, texts in answers.items():
        judged = tuple(
            Judged(Outcome(one.id, one.title, "passed", one.points, one.points, "✓"), one.points)
            for name in notebooks
            for one in of_notebook(name)
        )
        graded = Graded(judged, tuple((name, "x.ipynb") for name in notebooks), answers=tuple(texts.items()))
        submissions[student] = Submission(student, "", None, 1, "2026-01-01T00:00:00+00:00", graded)
    students, _ = enrolled([HandedIn(student, "", "") for student in answers], ())
    return grades_of(students, submissions, notebooks)


def many_answers(students: int, exercises: list[str], seed: int) -> dict[str, dict[str, str]]:
    """Each student's answers, written alone; a third of the answers are short."""
    rng = random.Random(seed)
    sizes = {id: rng.choice((3, 7, 10)) for id in exercises}
    names = [f"student {n:02}" for n in range(students)]
    return {name: {id: written(rng, sizes[id]) for id in exercises} for name in names}
