"""What a launch may need at most, what is counted of it, and the table of facts that says what to look at."""

from unittest import mock

import numpy as np
import pytest
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.measuring.kernel_work import KernelWork
from tutorlib.simulate.ptx import global_shadow, memory, simulation, state
from tutorlib.simulate.ptx import report as launch_report
from tutorlib.simulate.ptx.clocks import DEVICE, Agents, LaneClocks
from tutorlib.simulate.ptx.facts import FACTS, touches, width_of
from tutorlib.simulate.ptx.findings import TooManyRecords
from tutorlib.simulate.ptx.geometry import Geometry
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.launch import run
from tutorlib.simulate.ptx.meetings import Running
from tutorlib.simulate.ptx.memory import AsyncCopies, SharedMemory, listening
from tutorlib.simulate.ptx.opcodes import ANY_TYPE, FLOATS, INTEGERS
from tutorlib.simulate.ptx.shadow import SharedShadow, record_bytes

RACY = """
shl.b32 %r0, %tid_x, 2; mov.u32 %r1, smem; add.u32 %r2, %r1, %r0; st.shared.b32 [%r2], %tid_x;
xor.b32 %r3, %r0, 128; add.u32 %r3, %r1, %r3; ld.shared.b32 %r4, [%r3];
mov.u32 %r5, %ctaid.x; mad.lo.u32 %r5, %r5, 256, %r0; cvt.u64.u32 %rd0, %r5; add.s64 %rd0, %rd_out, %rd0;
st.global.b32 [%rd0], %r4;
"""


def racy():
    out = torch.zeros(64 * 6, dtype=torch.int32)
    return out, launch(kernel(RACY, ["out"], shared=256), {"out": out}, threads=64, blocks=6)


@pytest.mark.parametrize("agents", [Agents(4), Agents(8, True, 2, 64)])
def test_the_size_of_the_records_is_known_before_they_are_made(agents):
    geometry, shared = Geometry((9, 1, 1), (agents.warps * 32, 1, 1), 3), SharedMemory(3, 1000)
    clocks = LaneClocks(geometry, agents, np.ones(geometry.lanes, bool))
    copies = AsyncCopies(geometry.lanes, shared)
    running = Running(geometry, clocks, mock.Mock())
    records = SharedShadow(running, 1000, 4, copies, None)
    pieces = [a for a in vars(records).values() if isinstance(a, np.ndarray) and a.shape[:1] == (3 * records.pieces,)]
    assert sum(a.nbytes for a in pieces) <= 3 * record_bytes(1000, 4, agents) <= sum(a.nbytes for a in pieces) * 1.2


def test_fewer_blocks_run_together_where_their_records_are_large(monkeypatch):
    (together, report), made = racy(), []
    monkeypatch.setattr(simulation, "RECORDS_AT_ONCE", 1)
    with mock.patch.object(simulation, "Geometry", side_effect=lambda *args: made.append(Geometry(*args)) or made[-1]):
        apart, again = racy()
    assert made[-1].batch == 1
    assert together.equal(apart)
    assert [finding.kind for finding in report.findings] == [finding.kind for finding in again.findings] == ["race"]


def test_a_cluster_whose_records_are_too_large(monkeypatch):
    monkeypatch.setattr(simulation, "MOST_RECORDS", 1000)
    with pytest.raises(TooManyRecords, match="choose smaller clusters or smaller blocks"):
        racy()


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


def test_a_trace_ends(monkeypatch):
    monkeypatch.setattr(launch_report, "MOST_EVENTS", 2)
    out = torch.zeros(64, dtype=torch.int32)
    report = run(kernel(RACY, ["out"], shared=256), (1,), (64,), {"out": out}, traced=True)
    assert len(report.trace.events) == 2


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


# what two instructions compute ----------------------------------------------------------------------------------------

LOAD = """mul.wide.u32 %rd0, %tid_x, 4; add.u64 %rd0, %rd_x, %rd0; ld.global.f32 %f0, [%rd0];
mul.f32 %f1, %f0, 0f3F000000;
"""


@pytest.mark.parametrize(
    ("again", "twice"),
    [
        ("mul.f32 %f2, 0f3F000000, %f0;", True),
        ("mul.f32 %f3, %f0, 0f3E800000; add.f32 %f2, %f3, %f3;", True),  # 2 · (x / 4)
        ("fma.rn.f32 %f2, %f0, 0f3F000000, 0f33000000;", True),  # x/2 + 3e-8, less than a rounding
        ("fma.rn.f32 %f2, %f0, 0f33000000, %f1;", False),  # x/2, corrected
        ("mul.f32 %f1, %f0, 0f3F000000;", False),  # one register, which two branches of a program may set
        ("mul.f32 %f2, %f0, 0f3F008000;", False),  # 0.502 · x
        ("add.f32 %f2, %f0, 0f4B400000; add.f32 %f3, %f0, 0f4B400001;", False),  # round(x) in the low bits
        ("sub.f32 %f2, %f0, %f0; sub.f32 %f3, %f1, %f1;", False),  # zeros say nothing
    ],
)
@listening(KernelWork)
def test_a_number_that_two_instructions_compute(again, twice):
    x = torch.randn(64, generator=torch.Generator().manual_seed(1))
    assert bool(launch(kernel(LOAD + again, ["x"]), {"x": x}, threads=64).computed_twice) is twice


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
