"""Answers about compiled functions and layers, judged outside: what their process says counts for nothing."""

import pytest

from tests.from_afar import Forging, answer_to
from tests.grading.test_far import judged
from tests.pages.answers import RIGHT
from tutorlib.checking import cuda_host
from tutorlib.exercises import find
from tutorlib.grading import sandbox

VALUES = ("16.8", "16.9", "16.10", "16.11", "16.13", "16.14", "08.6", "17.3", "17.4", "17.5", "17.6", "17.9")


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 17)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", VALUES)
def test_right_answers_have_all_points_outside(id):
    for answer in (answer_to(id), *(one.function for one in RIGHT[id][: 1 if id == "08.6" else None])):
        outcome = judged(id, answer)
        assert outcome.points == find(id).points_anywhere, outcome.message


@pytest.mark.parametrize("seed", range(3))
def test_drawn_keys_are_those_that_the_course_tells_apart(seed, monkeypatch):
    """Whatever is drawn."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", seed)
    assert judged("17.3", answer_to("17.3")).points == 4


class Counting(Forging):
    """Numbers keys as they would have to be numbered if each pair were asked by itself."""

    def numbered_keys(self, calls):
        return [(n // 2, "a key") for n in range(len(calls))]


class AllAlike(Forging):
    def numbered_keys(self, calls):
        return [(0, "a key")] * len(calls)


class AllNew(Forging):
    def numbered_keys(self, calls):
        return [(n, "a key") for n in range(len(calls))]


@pytest.mark.parametrize(("served", "most"), [(Counting, 0), (AllNew, 0), (AllAlike, 0.5)])
def test_keys_that_are_numbered_without_looking_are_wrong(served, most):
    """One case of five is about keys that are equal."""
    assert judged("17.3", lambda *call: 0, served).points <= most


def test_who_calls_no_compiler_has_nothing_of_what_it_makes():
    assert judged("17.4", lambda compile, key: lambda *tensors: (0, *tensors)).points == 0


def test_gradients_that_do_not_come_from_gemm_are_not_counted():
    def beside_it(grad, x, weight, gemm):
        gemm(grad.flatten(0, -2) * 0, weight.mT.contiguous())
        gemm(grad.flatten(0, -2).mT.contiguous() * 0, x.flatten(0, -2).mT.contiguous())
        return grad @ weight, grad.flatten(0, -2).mT @ x.flatten(0, -2)

    outcome = judged("16.8", beside_it)
    assert outcome.points == 2
    assert "the gradients do not follow it" in outcome.message


class FromMemory(Forging):
    """Tells of fakes what is right in a notebook, where sizes are known."""

    def fake_result(self, x, weight, dtype, device, symbols):
        known = {"shape": ["6", "3"], "strides": ["3", "1"], "like": f"{dtype} on {device}"}
        return known | {"computing": "", "asked": "", "data": False, "new": True}


def test_what_is_told_by_heart_is_wrong():
    assert judged("16.9", answer_to("16.9"), FromMemory).points == 0


def in_cpp(body):
    """An answer to 08.6."""
    return lambda: f"void add_on_gpu(const float* a, const float* b, float* c, int n) {{ {body} }}"


FORGED_PROGRAMS = {
    "ends": "std::exit(0);",
    "says so": 'std::printf("%d of %d elements right\\n", n, n); std::fflush(stdout); std::_Exit(0);',
    "without a GPU": """
        float *x, *y, *z;
        cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float)); cudaMalloc(&z, n * sizeof(float));
        vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);
        cudaFree(x); cudaFree(y); cudaFree(z);
        for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
    """,
}


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("name", ["without a GPU", "ends", "says so"])
def test_a_program_is_judged_by_the_sums_that_it_writes(name):
    """The GPU that is none adds what nobody else knows."""
    assert judged("08.6", in_cpp(FORGED_PROGRAMS[name])).points == 0


@pytest.mark.skipif(bool(sandbox.why_open()), reason="needs bubblewrap")
@pytest.mark.usefixtures("no_gpu")
def test_a_program_runs_behind_a_wall(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_host, "command_for", sandbox.sandboxed_program)
    assert judged("08.6", answer_to("08.6")).points == 4
    harm = tmp_path / "harm"
    judged("08.6", in_cpp(f'if (auto file = std::fopen("{harm}", "w")) std::fclose(file);'))
    assert not harm.exists()
