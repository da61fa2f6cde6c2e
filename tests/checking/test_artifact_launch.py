"""Kernels of another process, up to the driver: what crosses, what is made of it here, and what is refused."""

import ctypes
import struct
import weakref
from types import SimpleNamespace

import pytest
import torch

from tests.checking.elsewhere import Near, answer_to
from tests.stand_ins import H200
from tutorlib.checking.artifact import MOST_PTX, MOST_TILE_IR, CuteArtifact, CutileArtifact, launches_of
from tutorlib.checking.artifact_launch import LaunchedCutileArtifact, packed
from tutorlib.checking.host_artifact import LaunchedHostArtifact, LaunchPlan, Placed, Planned
from tutorlib.compiling.cutile import compile_tile_ir, entries_of
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.ptxas import machine_code, sections
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.measuring.launchers import CutileLauncher
from tutorlib.problems.work import Work
from tutorlib.simulate.ptx.memory.descriptors import read_tensor_map
from tutorlib.simulate.ptx.parse import parse_ptx


@pytest.fixture(autouse=True)
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


def code(cubin):
    return {name: data for name, _, _, data in sections(cubin) if name.startswith(".text.")}


@pytest.mark.parametrize("id", ["05.5", "05.8"])
def test_the_machine_code_made_here_is_cutes_own(id):
    exercise, kernel = find(id), find(id).accept(answer_to(id))
    compiled = exercise.compile_for(kernel, "90")
    assert code(machine_code(compiled.ptx)) == code(compiled.cubin)


def test_the_machine_code_made_here_is_cutiles_own():
    exercise, answer = find("07.1"), answer_to("07.1")
    shape = exercise.shapes[0]
    near: CutileLauncher = exercise.accept(answer)
    far = CutileArtifact.of(Near(answer), find("07.1")).compiled(exercise.problem, shape, "sm_90")
    assert far.cubin == near.compiled(exercise.problem, shape, "sm_90").cubin
    ((_, kinds),) = entries_of(far.ptx)
    assert kinds == ("ptr", "u32", "u32", "u32", "u32") * 3


def test_parameters_lie_as_a_kernel_reads_them():
    raw, offsets = packed(("ptr", "u32", "ptr"), (2**40, 3, 2**41))
    assert offsets == [0, 8, 16]
    assert raw == struct.pack("<QiiQ", 2**40, 3, 0, 2**41)


def test_what_ptxas_refuses_is_said_in_one_line():
    with pytest.raises(CompileFailed, match="ptxas refuses its PTX") as failed:
        machine_code(".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() { garbage; }\n")
    assert "\n" not in str(failed.value)


def test_what_tileiras_refuses_is_said_in_one_line():
    with pytest.raises(CompileFailed, match="tileiras refuses its Tile IR") as failed:
        compile_tile_ir(b"garbage", "sm_90")
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    "says",
    [
        {"tile_ir": bytes(MOST_TILE_IR + 1), "opt_level": 3},
        {"tile_ir": "text", "opt_level": 3},
        {"tile_ir": b"", "opt_level": "3 --device-debug"},
    ],
)
def test_no_other_tile_ir_is_compiled(says, monkeypatch):
    near = Near(None)
    monkeypatch.setattr(near, "ask", lambda *asked: says)
    with pytest.raises(CompileFailed, match="cannot be read"):
        CutileArtifact.of(near, find("06.1")).compiled(None, (64,), "sm_90")


@pytest.mark.parametrize("ptx", [f".entry{' ' * MOST_PTX}", b".entry", "no kernel"])
def test_no_other_ptx_is_compiled(ptx, monkeypatch):
    near = Near(None)
    monkeypatch.setattr(near, "ask", lambda *asked: {"ptx": ptx, "smem_bytes": 0})
    with pytest.raises(CompileFailed, match="cannot be read"):
        CuteArtifact.of(near, find("04.4")).compiled((64,), "90")


def test_a_tile_kernel_with_other_parameters_is_not_launched():
    """That of 06.4 in the place of 06.1's."""
    exercise = find("06.1")
    shape = exercise.shapes[0]
    other = CutileArtifact.of(Near(answer_to("06.4")), find("06.4"))
    launcher = LaunchedCutileArtifact(other, exercise.grid)
    with pytest.raises(CompileFailed, match="parameters other than its tensors"):
        launcher.load(find("06.4").problem, find("06.4").shapes[0], ("ptr", "u32", "u32") * (len(shape) + 1))


PTX = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\nret;\n}\n"
RIGHT = ("k", (1, 1, 1), (32, 1, 1), 0, bytes(8), (1, 1, 1), False, False)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "another"),
        (1, (-1, 1, 1)),
        (1, (2**31, 1, 1)),
        (1, (1.5, 1, 1)),
        (1, (1, 1)),
        (2, (32, 1, 1, 1)),
        (3, -1),
        (4, bytes(16)),
        (4, "text"),
        (5, (0, 0, 0, 0)),
        (6, 1),
    ],
)
def test_no_other_launch_is_read(place, value):
    module = parse_ptx(PTX)
    assert len(launches_of(module, [RIGHT])) == 1
    with pytest.raises(CompileFailed, match="cannot be read"):
        launches_of(module, [(*RIGHT[:place], value, *RIGHT[place + 1 :])])


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


def test_a_cute_kernel_gets_the_judges_tensors(launches):
    exercise = find("13.9")
    work = Work(exercise.problem, exercise.shapes[0], "cpu")
    call = exercise.launcher(CuteArtifact.of(Near(answer_to("13.9")), find("13.9"))).on(work)
    call()
    (_, smem), (name, blocks, threads, asked_smem, stream, places) = launches
    assert (blocks, threads, stream) == ((2, 1, 1), (256, 1, 1), 7)
    assert smem == asked_smem > 48 * 2**10
    maps = [read_tensor_map(parameter(places, number, 128)) for number in (0, 2, 4)]
    assert [each.address for each in maps] == [tensor.data_ptr() for tensor in work.tensors]
    assert "hopper" in name


def test_a_cutile_kernel_gets_the_judges_tensors(launches):
    exercise = find("06.5")
    shape = exercise.shapes[0]
    work = Work(exercise.problem, shape, "cpu")
    call = exercise.launcher(exercise.artifact(Near(answer_to("06.5")))).on(work)
    call()
    ((name, blocks, threads, smem, stream, places),) = launches
    assert (blocks, threads, smem, stream) == ((*exercise.grid(shape), 1, 1)[:3], (1, 1, 1), 0, 7)
    assert name.startswith("softmax")
    for number, tensor in zip((0, 5), work.tensors, strict=True):
        assert parameter(places, number, 8) == struct.pack("<Q", tensor.data_ptr())
        sizes = [struct.unpack("<i", parameter(places, number + n, 4))[0] for n in range(1, 5)]
        assert sizes == [*tensor.shape, *tensor.stride()]


def test_each_call_of_a_host_function_finds_the_memory_that_it_made(monkeypatch):
    problem = find("07.9").problem
    sums = Placed(3, 0, "float32", (4,), (1,))
    plan = LaunchPlan((Planned(b"", 3, (1,), (sums,), (sums,)),), (None, None, None, bytes(16)))
    found = []

    def add_to(_, launch, memories):
        (placed,) = launch.taken
        address, kept = placed.within(memories).data_ptr(), weakref.ref(memories[placed.memory])

        def run():
            assert kept() is not None  # a launch has the address alone
            memory = (ctypes.c_float * 4).from_address(address)
            found.append(list(memory))
            memory[:] = [n + 1 for n in memory]

        return run

    monkeypatch.setattr(LaunchedHostArtifact, "prepared", add_to)
    call = LaunchedHostArtifact(SimpleNamespace(plan=lambda *_: plan)).on(Work(problem, (8, 8, 8), "cpu"))
    call()
    call()
    assert found == [[0.0] * 4] * 2
