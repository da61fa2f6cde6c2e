"""Launches that were recorded in another process, moved to tensors of this one."""

import re
import struct

import pytest

from tests.checking.elsewhere import Near, answer_to
from tests.stand_ins import H200
from tutorlib.checking.artifact import CuteArtifact
from tutorlib.checking.artifact_launch import LaunchedCuteArtifact
from tutorlib.checking.relocation import APART, FIRST, Pointer, made_up_addresses, relocatable
from tutorlib.compiling.errors import CompileFailed
from tutorlib.exercises import find
from tutorlib.machine import device
from tutorlib.simulate.ptx.ir import Kernel, Module, Parameter
from tutorlib.simulate.ptx.memory.descriptors import BYTES, read_tensor_map
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.simulation import Launch


@pytest.fixture
def h200(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)


@pytest.mark.usefixtures("h200")
@pytest.mark.parametrize("id", ["04.5", "04.8", "05.8", "13.9"])  # dynamic, a scalar beside, TMA, TMA beside layouts
def test_a_moved_launch_is_the_one_that_is_recorded_there(id):
    exercise, far = find(id), CuteArtifact.of(Near(answer_to(id)), find(id))
    shape, problem = exercise.shapes[0], exercise.problem
    module = parse_ptx(far.compiled(shape, "90").ptx)
    addresses = [0x7F00_0000_0000 + n * 0x1234_0000 for n in range(len(problem.operands))]
    there = far.launches(module, shape, addresses, here=True)
    moved = LaunchedCuteArtifact(far).recorded(module, problem, shape)
    assert [one.launch.config for one in moved] == [one.config for one in there]
    assert [one.launch.kernel for one in moved] == [one.kernel for one in there]
    for one, wanted in zip(moved, there, strict=True):
        got, kernel = one.parameters(addresses), wanted.kernel
        assert len(one.pointers) == len(addresses)
        for each in kernel.parameters:
            mine, its = (raw[each.offset : each.offset + each.size] for raw in (got, wanted.parameters))
            if each.size == BYTES:
                assert read_tensor_map(mine) == read_tensor_map(its)
            else:  # between its fields a struct has what happened to lie there
                assert [mine[place] for place in read_of(kernel, each)] == [
                    its[place] for place in read_of(kernel, each)
                ]


def read_of(kernel, parameter):
    """The bytes of a parameter that the kernel reads, from its start on; the first eight, a pointer, among them."""
    places = set()
    for instruction in kernel.instructions:
        if instruction.opcode.startswith("ld.param") and instruction.operands[1].base.name == parameter.name:
            count = next((int(part[1:]) for part in instruction.parts if part in ("v2", "v4")), 1)
            size = count * int(re.search(r"\d+$", instruction.opcode)[0]) // 8
            places |= set(range(instruction.operands[1].offset, instruction.operands[1].offset + size))
    assert places or parameter.size < 8
    return sorted(places)


# Made-up recordings -----------------------------------------------------------------------------------------------

SIZES = (4096, 4096)
KERNEL = Kernel("k", (Parameter("a", "b8", 0, 16), Parameter("b", "u64", 16, 8)), (), {}, {}, {}, None)
MAPPED = Kernel("k", (Parameter("map", "b8", 0, BYTES),), (), {}, {}, {}, None)


def recorded(*words, kernel=KERNEL):
    return Launch(Module("sm_80", {}, {}), kernel, (1, 1, 1), (32, 1, 1), 0, struct.pack(f"<{len(words)}Q", *words))


def test_a_word_that_points_into_a_tensor_is_a_pointer():
    a, b = made_up_addresses(2)
    found = relocatable(recorded(a + 64, 7, b), SIZES)
    assert found.pointers == (Pointer(0, 0, 64), Pointer(16, 1, 0))
    assert found.offsets == (0, 16)
    assert found.parameters([1000, 2000]) == struct.pack("<3Q", 1064, 7, 2000)


@pytest.mark.parametrize(
    ("words", "kernel"),
    [
        ((FIRST + 4096, 0, 0), KERNEL),
        ((FIRST + APART - 8, 0, 0), KERNEL),
        ((0x7F00_0000_0000, *[0] * 15), MAPPED),
        ((FIRST + 2 * APART, *[0] * 15), MAPPED),
    ],
    ids=["behind", "before", "a map of other memory", "a map of no tensor"],
)
def test_what_leads_elsewhere_is_refused(words, kernel):
    with pytest.raises(CompileFailed, match="leads out of its tensors"):
        relocatable(recorded(*words, kernel=kernel), SIZES)
