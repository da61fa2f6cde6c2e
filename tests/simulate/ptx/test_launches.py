"""What a launch may need at most, what is counted of it, and the table of facts that says what to look at."""

import gc
from unittest import mock

import numpy as np
import pytest
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.simulate.ptx import global_shadow, memory, simulation, state
from tutorlib.simulate.ptx.clocks import DEVICE, LaneClocks
from tutorlib.simulate.ptx.findings import TooManyRecords
from tutorlib.simulate.ptx.geometry import Geometry
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcode_facts import FACTS, touches, width_of
from tutorlib.simulate.ptx.opcodes import ANY_TYPE, FLOATS, INTEGERS

RACY = """
shl.b32 %r0, %tid_x, 2; mov.u32 %r1, smem; add.u32 %r2, %r1, %r0; st.shared.b32 [%r2], %tid_x;
xor.b32 %r3, %r0, 128; add.u32 %r3, %r1, %r3; ld.shared.b32 %r4, [%r3];
mov.u32 %r5, %ctaid.x; mad.lo.u32 %r5, %r5, 256, %r0; cvt.u64.u32 %rd0, %r5; add.s64 %rd0, %rd_out, %rd0;
st.global.b32 [%rd0], %r4;
"""


def racy():
    out = torch.zeros(64 * 6, dtype=torch.int32)
    return out, launch(kernel(RACY, ["out"], shared=256), {"out": out}, threads=64, blocks=6)


def test_fewer_blocks_run_together_where_their_shared_memory_is_large(monkeypatch):
    (together, report), made = racy(), []
    monkeypatch.setattr(simulation, "SHARED_AT_ONCE", 1)
    with mock.patch.object(simulation, "Geometry", side_effect=lambda *args: made.append(Geometry(*args)) or made[-1]):
        apart, again = racy()
    assert made[-1].batch == 1
    assert together.equal(apart)
    assert [finding.kind for finding in report.findings] == [finding.kind for finding in again.findings] == ["race"]


def test_a_launch_leaves_no_arrays_to_the_garbage_collector():
    """It counts objects, and not the bytes of the arrays that they have."""
    racy()  # what is kept for the next launch is made
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        racy()
        gc.collect()
        left = [found for found in gc.garbage if any(isinstance(part, np.ndarray) for part in gc.get_referents(found))]
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.garbage.clear()
    assert not left


def test_tensors_whose_records_are_too_large(monkeypatch):
    monkeypatch.setattr(global_shadow, "MOST_RECORDS", 2000)
    with pytest.raises(TooManyRecords, match=r"choose sizes with at most [\d,]+ bytes"):
        racy()


def test_copies_that_no_thread_waits_for(monkeypatch):
    monkeypatch.setattr(memory, "MOST_IN_FLIGHT", 4000)
    body = """
    shl.b32 %r0, %tid_x, 4; mov.u32 %r1, smem; add.u32 %r1, %r1, %r0; cvt.u64.u32 %rd0, %r0; add.s64 %rd0, %rd_a, %rd0;
    mov.u32 %r2, 0;
    AGAIN: cp.async.cg.shared.global [%r1], [%rd0], 16; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 20; @%p0 bra AGAIN;
    """
    with pytest.raises(TooManyRecords, match="choose a size with fewer steps"):
        launch(kernel(body, ["a"], shared=512), {"a": torch.zeros(512, dtype=torch.uint8)})


FENCES = """
mov.u32 %r0, 0;
AGAIN: membar.gl; bar.sync 0; atom.global.add.u32 %r1, [%rd_count], 1; membar.gl; bar.sync 0;
add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 40; @%p0 bra AGAIN;
"""


def test_what_flags_tell_grows_with_the_blocks_only():
    made, blocks = [], 3
    with mock.patch.object(state, "LaneClocks", side_effect=lambda *a: made.append(LaneClocks(*a)) or made[-1]):
        launch(kernel(FENCES, ["count"]), {"count": torch.zeros(1, dtype=torch.int32)}, threads=64, blocks=blocks)
    assert made[0].far
    assert max(map(len, made[0].far.values())) <= blocks * (DEVICE + 2)


# facts ----------------------------------------------------------------------------------------------------------------


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
