"""Kernels of another process, up to the driver: what is made of their evidence here, and what is refused."""

import ctypes
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.checking.elsewhere import answer_to, graded_for_points
from tests.grading.test_wire import judged_from_afar
from tests.pages.answers import WRONG
from tests.stand_ins import H200
from tutorlib.checking import cutile, launching
from tutorlib.checking.answer import Served
from tutorlib.checking.cute import launches_of
from tutorlib.checking.cutile import gpu_here, plan_at
from tutorlib.checking.evidence import (
    APART,
    FIRST,
    CuteCode,
    RecordedLaunch,
    used,
)
from tutorlib.checking.kernel import KernelExercise
from tutorlib.checking.launching import Launches, OnGpu, parameters_for
from tutorlib.compiling.compiled import LaunchConfig
from tutorlib.compiling.dsls import compile_tile_ir
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.programs import machine_code
from tutorlib.exercises import find, of_notebook
from tutorlib.machine import device
from tutorlib.paths import notebook_names
from tutorlib.problems.work import Work
from tutorlib.simulate.ptx.descriptors import BYTES, read_tensor_map


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


def evidence_at(id, shape):
    """Of the course's own answer, to be run at one size."""
    return find(id).evidence(Served(answer_to(id)), (), (shape,))


@pytest.mark.usefixtures("h200")
@pytest.mark.parametrize("id", ["02.1", "02.4", "05.2", "14.4"])  # dynamic, a scalar beside, TMA, TMA beside layouts
def test_every_pointer_of_a_launch_is_moved_to_the_judges_tensors(id):
    exercise = find(id)
    shape = exercise.sizes[0]
    code = evidence_at(id, shape).at(shape, "90")
    work = Work(exercise.problem, shape, "cpu")
    addresses = {tensor.data_ptr() for tensor in work.tensors}
    for launch in launches_of(code).launches:
        raw = parameters_for(launch, work.tensors)
        found = set()
        for each in launch.kernel.parameters:
            mine = raw[each.offset : each.offset + each.size]
            found.add(read_tensor_map(mine).address if each.size == BYTES else int.from_bytes(mine[:8], "little"))
        assert addresses <= found
        assert not any(FIRST <= one < FIRST + APART for one in found)


def test_a_pointer_out_of_its_tensor_is_refused():
    code = CuteCode(ptx=PTX, launches=(replace(LAUNCH, parameters=(FIRST + 64).to_bytes(8, "little")),))
    (launch,) = launches_of(code).launches
    assert parameters_for(launch, [torch.zeros(17)]) != launch.parameters
    with pytest.raises(CompileFailed, match="leads out of its tensors"):
        parameters_for(launch, [torch.zeros(16)])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: machine_code(".version 9.0\n.target sm_90a\n.entry k() { garbage; }\n"), "ptxas refuses its PTX"),
        (lambda: compile_tile_ir(b"garbage", "sm_90"), "tileiras refuses its Tile IR"),
    ],
)
def test_what_a_compiler_refuses_is_said_in_one_line(make, says):
    with pytest.raises(CompileFailed, match=says) as failed:
        make()
    assert "\n" not in str(failed.value)


# What a process may send in the place of evidence ------------------------------------------------------------------

PTX = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\nret;\n}\n"
LAUNCH = RecordedLaunch(kernel="k", config=LaunchConfig((1, 1, 1), (32, 1, 1)), parameters=bytes(8))


def test_a_launch_with_other_parameters_than_its_kernels_is_refused():
    assert len(launches_of(CuteCode(ptx=PTX, launches=(LAUNCH,))).launches) == 1
    with pytest.raises(CompileFailed, match="cannot be read"):
        launches_of(CuteCode(ptx=PTX, launches=(replace(LAUNCH, parameters=bytes(16)),)))


def test_an_exception_in_the_place_of_an_entry_is_raised_where_it_is_used():
    with pytest.raises(CompileFailed, match="its words"):
        used(CompileFailed("its words"))


@pytest.mark.usefixtures("h200")
def test_a_tile_kernel_with_other_parameters_is_not_launched():
    shape, problem = find("06.2").shapes[0], find("06.2").problem
    target, sms = gpu_here()
    evidence = evidence_at("06.2", shape)
    plan = plan_at(evidence, problem, shape, target, sms)
    (launch,) = cutile.launches_of(evidence, plan, target).launches
    assert len(launch.parameters) == launch.kernel.parameter_bytes
    other = replace(plan.launches[0], args=(3,), constants=())
    with pytest.raises(CompileFailed, match="parameters other than its tensors"):
        cutile.launches_of(evidence, replace(plan, launches=(other,)), target)


# What the driver gets ---------------------------------------------------------------------------------------------


@pytest.fixture
def launches(monkeypatch):
    """What the driver is asked for, in order: functions by name, attributes, launches with their parameters' bytes."""
    from cuda.bindings import driver

    asked, good = [], driver.CUresult.CUDA_SUCCESS

    def launch(config, function, places, extra):
        blocks = (config.gridDimX, config.gridDimY, config.gridDimZ)
        threads = (config.blockDimX, config.blockDimY, config.blockDimZ)
        asked.append((function, blocks, threads, config.sharedMemBytes, int(config.hStream), places))
        return (good,)

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(driver, "cuModuleLoadData", lambda cubin: (good, cubin))
    monkeypatch.setattr(driver, "cuModuleGetFunction", lambda module, name: (good, name.decode()))
    monkeypatch.setattr(driver, "cuFuncSetAttribute", lambda name, kind, value: asked.append((kind, value)) or (good,))
    monkeypatch.setattr(driver, "cuLaunchKernelEx", launch)
    return asked


def parameter(places, number, size):
    return ctypes.string_at(ctypes.c_void_p.from_address(places + 8 * number).value, size)


@pytest.mark.usefixtures("h200")
def test_a_cute_kernel_gets_the_judges_tensors(launches):
    exercise = find("14.4")
    work = Work(exercise.problem, exercise.shapes[0], "cpu")
    call = exercise.launcher(evidence_at("14.4", work.shape)).on(work)
    call()
    (_, smem), (name, blocks, threads, asked_smem, stream, places) = launches
    assert (blocks, threads, stream) == ((2, 1, 1), (256, 1, 1), 7)
    assert smem == asked_smem > 48 * 2**10
    maps = [read_tensor_map(parameter(places, number, 128)) for number in (0, 2, 4)]
    assert [each.address for each in maps] == [tensor.data_ptr() for tensor in work.tensors]
    assert "hopper" in name


@pytest.mark.usefixtures("h200")
def test_a_cutile_kernel_gets_the_judges_tensors(launches):
    exercise = find("06.2")
    shape = exercise.shapes[0]
    work = Work(exercise.problem, shape, "cpu")
    call = exercise.launcher(evidence_at("06.2", shape)).on(work)
    call()
    ((name, blocks, threads, smem, stream, places),) = launches
    assert (blocks, threads, smem, stream) == ((*exercise.grid(shape), 1, 1)[:3], (1, 1, 1), 0, 7)
    assert name.startswith("long_softmax")
    for number, tensor in zip((0, 5), work.tensors, strict=True):
        assert int.from_bytes(parameter(places, number, 8), "little") == tensor.data_ptr()
        sizes = [int.from_bytes(parameter(places, number + n, 4), "little") for n in range(1, 5)]
        assert sizes == [*tensor.shape, *tensor.stride()]


def test_each_call_of_a_host_function_finds_the_memory_that_it_made(monkeypatch):
    problem = find("07.1").problem
    (launch,) = launches_of(CuteCode(ptx=PTX, launches=(LAUNCH,))).launches
    found = []

    def add_to(function, config, parameters, offsets):
        memory = (ctypes.c_float * 4).from_address(int.from_bytes(parameters, "little"))

        def run():
            found.append([*memory])
            memory[0] += 1

        return run

    monkeypatch.setattr(launching, "load_function", lambda cubin, name: name)
    monkeypatch.setattr(launching, "prepare", add_to)
    scratch = replace(launch, parameters=(FIRST + 3 * APART).to_bytes(8, "little"))
    call = OnGpu(lambda shape: Launches([scratch], [b""], [bytes(16)])).on(Work(problem, (8, 8, 8), "cpu"))
    call()
    call()
    assert found == [[0.0] * 4] * 2


# `check` and the grader give an answer the same points with the same words -------------------------------------------

KEEPS = ("KeptByAll",)  # these meet the second judge with what the first one left them
SEVERAL = 3  # kernels of each kind of exercise


def several_of_each_kind() -> list[str]:
    """All exercises but most of those whose answer is a kernel: one kind of these has one kind of evidence."""
    kinds = Counter[type]()
    found = []
    for exercise in (one for name in notebook_names() for one in of_notebook(name)):
        kinds[type(exercise)] += 1
        if not isinstance(exercise, KernelExercise) or kinds[type(exercise)] <= SEVERAL:
            found.append(exercise.id)
    return found


IDS = several_of_each_kind()


@pytest.fixture
def seed(monkeypatch):
    """One for all that is drawn, as in a grading run."""
    monkeypatch.setattr("tutorlib.checking.randomness._fixed", 26)


def assert_judged_alike(id, answer):
    """Both times for points, and so with the same drawn calls."""
    here, there = graded_for_points(id, Served(answer)), judged_from_afar(find(id), answer, 600.0)
    assert there == here


@pytest.mark.usefixtures("no_gpu", "seed")
@pytest.mark.parametrize("id", IDS)
def test_a_solution_is_judged_alike(id):
    assert_judged_alike(id, answer_to(id))


@pytest.mark.usefixtures("no_gpu", "seed")
@pytest.mark.parametrize("id", [id for id in IDS if WRONG.get(id)])
def test_a_wrong_answer_is_judged_alike(id):
    assert_judged_alike(id, next(one.function for one in WRONG[id] if one.text not in KEEPS))
