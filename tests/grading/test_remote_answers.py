"""Answers judged from another process: what that process says counts for nothing."""

import threading
from dataclasses import replace

import pytest
from cutlass.base_dsl.compiler import CompileCallable

from tests.checking.elsewhere import Forging, answer_to
from tests.grading.test_wire import judged_from_afar
from tests.pages.answers import RIGHT, named
from tests.stand_ins import H200
from tutorlib.checking import randomness
from tutorlib.checking.answer import Served
from tutorlib.checking.cutile_evidence import TileEvidence
from tutorlib.checking.evidence import CuteCode, CuteEvidence, evidence_of
from tutorlib.compiling.dsls import module_from
from tutorlib.exercises import find, of_notebook
from tutorlib.machine import device
from tutorlib.measuring import simulated_launchers
from tutorlib.paths import notebook_names


def judged(id, answer, served=Served):
    return judged_from_afar(find(id), answer, kind=served)


@pytest.mark.usefixtures("no_gpu")
def test_one_question_is_asked_and_each_configuration_is_compiled_once(monkeypatch):
    asked, compiled, compile = [], [], CompileCallable._compile

    def noted(self, host, *args, **options):
        compiled.append(host)
        return compile(self, host, *args, **options)

    monkeypatch.setattr(CompileCallable, "_compile", noted)

    class Noting(Served):
        def ask(self, question, *args):
            asked.append(question.__name__)
            return super().ask(question, *args)

    assert judged("02.1", answer_to("02.1"), Noting).status == "passed"
    assert asked == ["evidence_of"]
    assert len(compiled) == 2  # dynamic sizes: once for a GPU, and once with the reader's lines


@pytest.mark.usefixtures("no_gpu")
def test_a_right_kernel_of_other_instructions_is_found_by_the_judge():
    answer = named("08.1", "×4 ct.tfloat32 → ct.float32").function
    outcome = judged("08.1", answer)
    assert outcome.points == 0
    assert "it compiles, but without mma.sync" in outcome.message


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("id", "row"), [("10.2", "wait_group(0) → wait_group(1)")])
def test_a_failure_that_is_found_outside_has_its_kind_and_its_remedy(id, row):
    answer = named(id, row).function
    outcome, here = judged(id, answer), find(id).grade(answer)
    assert outcome.message.failures == here.message.failures != ()
    assert outcome.remedy == here.remedy != ""


class Liar(Forging):
    """Sends another kernel's evidence as it would look if nothing spoke against the answer."""

    looked: object = None

    def evidence_of(self, request):
        found = evidence_of(self, request)
        if isinstance(found, CuteEvidence):
            return replace(found, looked=self.looked)
        if isinstance(found, str):
            return found
        right = {at: tuple(map(without_findings, calls)) for at, calls in found.interpreted.items()}
        return replace(found, interpreted=right)


def without_findings(call):
    reports = tuple(replace(one, findings=(), repeats=()) for one in call.reports)
    return replace(call, reports=reports, changed=(), current=True)


class Boaster(Liar):
    looked = (99.0, ("right",))


class Babbler(Liar):
    looked = (float("nan"), ("right",))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("id", "other"), [("06.2", "06.1"), ("06.3", "06.2")])
@pytest.mark.parametrize("served", [Served, Liar, Boaster, Babbler])
def test_another_exercises_kernel_has_none_whatever_its_process_says(id, other, served):
    """The vectorized copy is right as a copy, and lacks cp.async."""
    assert judged(id, answer_to(other), served).points == 0


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", ["21.2", "21.4"])  # CuTe, C++
@pytest.mark.parametrize("served", [Served, Liar])
def test_a_bug_that_is_not_mended_is_found_whatever_its_process_says(id, served):
    assert judged(id, lambda source: source, served).points < 1


@pytest.mark.usefixtures("no_gpu")
def test_the_judge_imports_no_mended_source(monkeypatch):
    """The answer's own process does, in a thread here."""
    here, imported = threading.get_ident(), []

    def noted(text, name):
        imported.append(threading.get_ident())
        return module_from(text, name)

    monkeypatch.setattr(simulated_launchers, "module_from", noted)
    assert judged("21.2", answer_to("21.2")).points == 2
    assert imported
    assert here not in imported


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("id", "row"),
    [
        ("06.3", "is launching(grid=lambda blocks: (max(1, blocks - 1),))"),
        ("06.3", "is launching(occupancy=4)"),
    ],
)
def test_what_host_code_launches_is_looked_at_whatever_its_process_says(id, row):
    assert judged(id, named(id, row).function, Liar).points < find(id).points


@pytest.mark.usefixtures("no_gpu")
def test_what_host_code_computes_by_itself_reaches_no_output():
    """Over there the tensors hold nothing."""
    assert judged("06.3", lambda x, y: y.copy_(x.softmax(-1)), Liar).points == 0


CODE = CuteCode(ptx=".version 8.0\n.target sm_80\n.entry k() {}\n", launches=(3,))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    "sends",
    [
        None,
        {},
        [CODE],
        CuteEvidence(),
        CuteEvidence(looked=3),
        CuteEvidence(codes=3),
        CuteEvidence(codes={((64, 64), "80"): CODE}),
        TileEvidence(),
    ],
)
def test_what_is_no_evidence_has_no_points(sends):
    forger = type("Forger", (Forging,), {"evidence_of": lambda self, request: sends})
    outcome = judged("02.1", answer_to("02.1"), forger)
    assert (outcome.points, outcome.status) == (0, "failed"), outcome.message


@pytest.mark.parametrize("gpu", [None, H200], ids=["no GPU", "H200"])
def test_which_kernels_are_not_simulated(gpu, monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: gpu)
    exercises = (one for name in notebook_names() for one in of_notebook(name))
    unlike = {one.id for one in exercises if not getattr(one, "simulated", True)}
    assert unlike == {"08.3"}  # FP8 of cuTile, which the simulator lacks


def test_a_seed_repeats_what_is_drawn(monkeypatch):
    seen = []

    def noted(n, tile):
        seen.append((n, tile))
        return -(-n // tile)

    runs = []
    for seed in (1, 2, 1):
        monkeypatch.setattr(randomness, "_fixed", seed)
        seen.clear()
        judged("00.1", noted)
        runs.append(list(seen))
    assert runs[0] == runs[2] != runs[1]


# Compiled functions and layers ---------------------------------------------------------------------------------------

VALUES = ("19.1", "19.2", "19.3", "19.4", "20.1", "20.2")


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 17)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("id", VALUES)
def test_right_answers_have_all_points_outside(id):
    for answer in (answer_to(id), *(one.function for one in RIGHT[id])):
        outcome = judged(id, answer)
        assert outcome.points == find(id).points_anywhere, outcome.message


@pytest.mark.parametrize("seed", range(3))
def test_drawn_keys_are_those_that_the_course_tells_apart(seed, monkeypatch):
    """Whatever is drawn."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", seed)
    assert judged("20.1", answer_to("20.1")).points == 4


class AllAlike(Forging):
    def numbered_keys(self, calls):
        return [0] * len(calls)


class AllNew(Forging):
    def numbered_keys(self, calls):
        return [*range(len(calls))]


@pytest.mark.parametrize("served", [AllNew, AllAlike])
def test_keys_that_are_numbered_without_looking_are_wrong(served):
    """In each case some calls share a key and others do not."""
    assert judged("20.1", lambda *call: 0, served).points == 0


def test_gradients_that_do_not_come_from_gemm_are_not_counted():
    def beside_it(grad, x, weight, gemm):
        gemm(grad.flatten(0, -2).contiguous() * 0, weight.mT.contiguous())
        gemm(grad.flatten(0, -2).mT.contiguous() * 0, x.flatten(0, -2).mT.contiguous())
        return grad @ weight, grad.flatten(0, -2).mT @ x.flatten(0, -2)

    outcome = judged("19.1", beside_it)
    assert outcome.points == 0
    assert "the gradient of x is another one" in outcome.message
