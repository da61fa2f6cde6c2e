"""The solutions' answers as objects, and the cells that they need."""

from dataclasses import replace

import pytest

from tests.course.conftest import PAGE, write_source
from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.course import answers
from tutorlib.course.answers import names_of, needed_texts, trimmed
from tutorlib.exercises import find, of_notebook
from tutorlib.machine.features import GENERATIONS
from tutorlib.paths import notebook_names

# What a block may have, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
SMEM_KIB = {"80": 163, "89": 99, "90": 227, "100": 227, "120": 99}


@pytest.mark.usefixtures("trial_page")
class TestATrialPage:
    def test_an_answer_is_what_the_solved_notebook_hands_to_check(self, tmp_path):
        write_source(tmp_path)
        found = answers.load_answers("90_trial", tmp_path)
        assert list(found) == ["90.1"]
        assert found["90.1"](41) == 42

    def test_cells_that_an_answer_needs_run_whatever_stands_between_them(self, tmp_path):
        page = PAGE.replace("(n + 2) - 1", "plus(n, ONE)")
        before = "# %%\nfrom operator import add as plus\n\n# %%\nprint(1 / 0)\n\n# %%\nONE = 1\n\n"
        write_source(tmp_path, page.replace("# %%\ndef", before + "# %%\ndef"))
        assert answers.load_answers("90_trial", tmp_path)["90.1"](1) == 2


@pytest.mark.parametrize("name", notebook_names())
def test_every_exercise_has_an_answer(name):
    found = sorted(answers.load_answers(name), key=lambda id: int(id[3:]))  # an appendix may hold an early one
    assert found == [exercise.id for exercise in of_notebook(name)]


OFTEN = ("80", "90", "100")  # the others bring no instruction that a page uses


def kernels():
    """Each kernel exercise with each generation of GPUs that it runs on."""
    return [
        pytest.param(exercise.id, arch, id=f"{exercise.id}-sm_{arch}", marks=() if arch in OFTEN else pytest.mark.long)
        for name in notebook_names()
        for exercise in of_notebook(name)
        if isinstance(exercise, CuteExercise)
        for arch in GENERATIONS
        if exercise.needs.on(arch) and arch != "89"  # 120 has as little shared memory
    ]


@pytest.fixture(scope="module")
def loaded():
    """The answers of a notebook, loaded once."""
    found: dict[str, dict] = {}

    def load(id):
        name = next(name for name in notebook_names() if name[:2] == id[:2])
        if name not in found:
            found[name] = answers.load_answers(name)
        return found[name][id]

    return load


@pytest.mark.parametrize(("id", "arch"), kernels())
def test_a_solution_compiles_for_every_generation_that_it_runs_on(loaded, id, arch):
    """It fits there, and has the instructions that are looked for on such a GPU."""
    exercise = find(id)
    compiled = exercise.compile_for(replace(exercise, arch=arch).evidence(Served(loaded(id)), (), ()), arch)
    assert compiled.arch.removeprefix("sm_").rstrip("a") == arch
    assert compiled.smem_bytes <= SMEM_KIB[arch] * 1024
    assert exercise.lacking(compiled.instructions) is None


# Needed cells --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (("import a, b", "!a.f()"), ["import a", "a.f()"]),
        (("import a.b", "!a.f()"), ["import a.b", "a.f()"]),
        (("x = 1", "print(x)", "!pass"), ["pass"]),
        (("x = 1", "!print(x)", "x = 2"), ["x = 1", "print(x)", "x = 2"]),
        (("x = 1", "x = 2", "!print(x)"), ["x = 1", "x = 2", "print(x)"]),
        (("x = 1", "x += 2", "!print(x)"), ["x = 1", "x += 2", "print(x)"]),
        (("x = 1", "if y:\n    x = 2", "!print(x)"), ["x = 1", "if y:\n    x = 2", "print(x)"]),
        (("x = 1", "!raise OSError\nx = 2", "!print(x)"), ["x = 1", "raise OSError\nx = 2", "print(x)"]),
        (("x = []", "x.append(1)", "!print(x)"), ["x = []", "x.append(1)", "print(x)"]),
        (("x = []", "x[0] = 1", "!print(x)"), ["x = []", "x[0] = 1", "print(x)"]),
        (("x = 1", "!def f(x): return x"), ["def f(x): return x"]),
        (("!def f(): return x", "x = 1", "!f()"), ["def f(): return x", "x = 1", "f()"]),
        (("x = 1", "!class A:\n    y = x"), ["x = 1", "class A:\n    y = x"]),
        (("n = 1", "!y = [n for x in range(3)]"), ["n = 1", "y = [n for x in range(3)]"]),
        (
            ("def g(): return h()", "def h(): return 1", "!g()"),
            ["def g():\n    return h()", "def h():\n    return 1", "g()"],
        ),
        (
            ("def f():\n    global x\n    x = 1\nf()", "!print(x)"),
            ["def f():\n    global x\n    x = 1\nf()", "print(x)"],
        ),
        (("x = 1", "print(0)", "!eval('x')"), ["x = 1", "print(0)", "eval('x')"]),
        (("x = 1", "%time print(0)", "!print(x)"), ["x = 1", "%time print(0)", "print(x)"]),
        (("from a import *", "print(0)", "!x"), ["from a import *", "print(0)", "x"]),
        (("from __future__ import annotations", "x = 1", "!x"), ["x = 1", "x"]),
        (("def f(): x.append(1)", "x = []", "!f()"), ["def f():\n    x.append(1)", "x = []", "f()"]),
    ],
)
def test_what_stays(cells, kept):
    """Cells that begin with "!" are wanted."""
    texts, wanted = [text.removeprefix("!") for text in cells], [text.startswith("!") for text in cells]
    needed, read = needed_texts(texts, wanted)
    stay = [(text, whole) for text, whole, stays in zip(texts, wanted, needed, strict=True) if stays]
    assert [text if whole or read is None else trimmed(text, read) for text, whole in stay] == kept


@pytest.mark.parametrize("text", ["", "(" * 500, "x = \0", "%magic", "from a import *", "!ls"])
def test_text_that_is_no_plain_python_is_nothing_or_unknown(text):
    names = names_of(text)
    assert names is None or not names.binds
