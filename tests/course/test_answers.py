"""The solutions' answers as Python objects, and that each compiles for every generation of GPUs that it runs on."""

from dataclasses import replace

import pytest

from tests.course.conftest import PAGE, write_source
from tutorlib.checking.answer import Served
from tutorlib.checking.cute import CuteExercise
from tutorlib.course import answers
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
        if exercise.needs.on(arch)
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
