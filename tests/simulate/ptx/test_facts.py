"""Rows of the table of facts, by what the PTX ISA says of the instructions."""

import pytest

from tutorlib.simulate.ptx.facts import FACTS, touches, width_of
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes import ANY_TYPE, FLOATS, INTEGERS


def instruction(opcode):
    return Instruction(opcode, (), None, False, 1, None)


@pytest.mark.parametrize(
    ("opcode", "spaces", "width"),
    [
        ("ld.shared::cta.v4.b32", {"shared"}, 16),
        ("st.global.v2.b16", {"global"}, 4),
        ("ld.v8.f32", {"global", "shared"}, 16),  # a generic address; 16 bytes are the largest piece with a record
        ("atom.shared.add.u64", {"shared"}, 8),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", {"shared"}, 16),  # 9.7.14.5.15: each lane gives a row's address
        ("cp.async.ca.shared.global", {"global", "shared"}, 4),  # 9.7.9.25.3.1: 4, 8 or 16 bytes, but .cg only 16
        ("cp.async.cg.shared.global", {"global", "shared"}, 16),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", {"global"}, 2),
        ("ld.param.u64", set(), 8),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", set(), 4),
    ],
)
def test_the_memory_that_an_opcode_touches(opcode, spaces, width):
    assert {space for space in ("global", "shared") if touches(instruction(opcode), space)} == spaces
    assert width_of(instruction(opcode)) == width


def test_every_row_is_of_an_opcode_that_is_simulated():
    known = {name.split(".")[0] for name in {**ANY_TYPE, **FLOATS, **INTEGERS}}
    scheduled = {"bra", "ret", "exit", "trap", "bar", "barrier"}  # by `schedule`, which decodes no step
    assert {name.split(".")[0] for name in FACTS} <= known | scheduled
