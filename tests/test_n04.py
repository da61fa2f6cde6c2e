"""Notebook 04: what the page says of CuTe is so, and its checks say what is wrong."""

import re
import time

import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.cutlass_dsl import CuTeDSL
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wrong.n04_first_kernels import WRONG, WRONG_ON_GPU, guarded_kernel
from tutorlib.build import parse
from tutorlib.compile import TensorSpec, compilations, compile_cute
from tutorlib.course import SOLUTIONS
from tutorlib.device import why_not
from tutorlib.exercises import find, n04_first_kernels
from tutorlib.gpu import run_on_gpu
from tutorlib.kernel import ARCH

needs_gpu = pytest.mark.skipif(why_not("80") is not None, reason=f"{why_not('80')}")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The solutions by exercise. The DSL reads a kernel's source, so the notebook's code must stand in a file."""
    cells = [cell for cell in parse(SOLUTIONS / "04_first_kernels.py") if cell.kind == "code"]
    code = "\n\n".join(cell.solved for cell in cells if cell.role != "check" and "run_on_gpu(" not in cell.text)
    file = tmp_path_factory.mktemp("04") / "first_kernels.py"
    file.write_text(code)
    names = {}
    exec(compile(code, file, "exec"), names)
    checks = (re.fullmatch(r'check\("(.*)", (\w+)\)', cell.text) for cell in cells if cell.role == "check")
    return {check[1]: names[check[2]] for check in checks}


@pytest.mark.parametrize("id", ["04.1", "04.2", "04.3"])
def test_solutions_pass_everywhere_and_quickly(answers, id):
    assert find(id).grade(answers[id]).status == "passed"
    start = time.perf_counter()
    find(id).grade(answers[id])
    assert time.perf_counter() - start < 0.5  # 0.2 s on an idle machine


@pytest.mark.parametrize("id", ["04.4", "04.5", "04.6"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_kernels_compile_for_every_family(answers, id, arch):
    exercise = find(id)
    compiled = compile_cute(answers[id], exercise.specs(exercise.shapes[-1]), arch)
    assert set(exercise.requires) <= compiled.instructions
    assert compiled.spill_bytes == 0


@pytest.mark.parametrize("id", ["04.4", "04.5", "04.6"])
def test_kernels_pass_or_say_that_they_were_not_run(answers, id):
    assert find(id).grade(answers[id]).status == ("not_run" if why_not("80") else "passed")


MESSAGES = {
    "overwrites": "what y held before is to be added",
    "scales_the_sum": "alpha multiplies x alone",
    "leaves_the_last": "The last element is left out",
    "one_too_many": "writes outside y",
    "unrolled": "does not compile: line",
    "not_jitted": "is not a @cute.jit function",
    "backwards": "lowest first",
    "no_constant": "add the constant",
    "run_time_loop": "value = value * x[i] + coefficients[power]",
    "once_a_call": "not compiled again",
    "once_at_all": "keeps its rank",
    "once_a_rank": "which of its modes has the stride 1",
    "once_a_shape": "with other strides is another",
    "ignores_dynamic": "count for static layouts",
    "launches_nothing": "launches no kernel",
    "calls_without_launch": "was called but never launched",
    "old_names": "no attribute 'thread_idx'",
    "returns_early": "Early exit",
    "leaky_scalar": "ld.global.v4",
    "leaky_strided": "ld.global.v4",
}


@pytest.mark.parametrize(("id", "wrong"), [(id, wrong) for id, wrongs in WRONG.items() for wrong in wrongs])
def test_messages_say_what_is_wrong(id, wrong):
    message = find(id).grade(wrong).message
    assert MESSAGES.get(wrong.__name__, "right") in message
    assert "\x1b" not in message


WRONG_KERNELS = [
    pytest.param(id, wrong, id=f"{id}-{wrong.__name__}") for id, wrongs in WRONG_ON_GPU.items() for wrong in wrongs
]


@pytest.mark.parametrize(("id", "wrong"), WRONG_KERNELS)
def test_wrong_kernels_compile(id, wrong):
    exercise = find(id)
    assert set(exercise.requires) <= compile_cute(wrong, exercise.specs(exercise.shapes[0])).instructions


@needs_gpu
@pytest.mark.parametrize(("id", "wrong"), WRONG_KERNELS)
def test_wrong_kernels_fail(id, wrong):
    outcome = find(id).grade(wrong)
    assert outcome.status in ("failed", "partial")
    assert outcome.points < outcome.max_points


@cute.jit
def first(a: cute.Tensor):
    a[(0,) * len(a.shape)] = 1.0


layouts = st.builds(
    lambda shape, fastest: (tuple(shape), strides(shape, fastest % len(shape))),
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.integers(0, 2),
)


def strides(shape, fastest):
    """Compact strides in which mode `fastest` has the 1."""
    order = [fastest, *(mode for mode in range(len(shape)) if mode != fastest)]
    steps, step = [0] * len(shape), 1
    for mode in order:
        steps[mode], step = step, step * shape[mode]
    return tuple(steps)


@settings(max_examples=20, deadline=None)
@given(st.lists(layouts, min_size=1, max_size=4), st.booleans())
def test_compilations_are_those_of_cute(tensors, dynamic):
    memory = torch.zeros(64)
    views = [from_dlpack(torch.as_strided(memory, *tensor)) for tensor in tensors]
    views = [view.mark_layout_dynamic() for view in views] if dynamic else views
    CuTeDSL._get_dsl().jit_cache.clear()
    for view in views:
        first(view)
    assert compilations() == n04_first_kernels.compilations(tensors, dynamic)


def test_a_page_without_a_gpu_says_what_was_compiled(monkeypatch, capsys):
    monkeypatch.setattr("tutorlib.device.why_not", lambda needs: "no GPU here")

    @cute.jit
    def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        guarded_kernel(a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))

    assert not run_on_gpu(add, *(torch.zeros(128) for _ in range(3)), dynamic=True)
    assert capsys.readouterr().out.startswith("add: compiled, not run: no GPU here\nsm_80: 128 threads, ")


@needs_gpu
def test_a_page_with_a_gpu_runs_the_kernel(answers):
    a, b, c = (torch.randn(1000, device="cuda") for _ in range(3))
    assert run_on_gpu(answers["04.5"], a, b, c, dynamic=True)
    assert c.equal(a + b)


def test_specs_follow_the_exercise():
    assert find("04.6").specs((2048,)) == [TensorSpec((2048,), dynamic=True, divisibility=4)] * 2
    assert ARCH["80"] == "sm_80"
