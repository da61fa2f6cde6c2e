"""shfl, vote, redux against their definitions (PTX ISA, 9.7.9.6 and 9.7.13)."""

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import as_bytes, execute, given, kernel, launch

LANES = np.arange(32, dtype=np.uint32)


def shuffled(mode, values, by, c):
    """PTX ISA, 9.7.9.6, word for word as a loop over lanes."""
    result, valid = [], []
    for lane in range(32):
        b, limit, segment = by[lane] & 31, c & 31, c >> 8 & 31
        highest, lowest = (lane & segment) | (limit & ~segment), lane & segment
        j, p = {
            "up": (lane - b, lane - b >= highest),
            "down": (lane + b, lane + b <= highest),
            "bfly": (lane ^ b, lane ^ b <= highest),
            "idx": (lowest | (b & ~segment), lowest | (b & ~segment) <= highest),
        }[mode]
        result.append(values[j if p else lane])
        valid.append(int(p))
    return result, valid


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@given(st.integers(0, 31), st.sampled_from([0x1F, 0x1F00, 0x1C1F, 0x181F, 0x1800, 0x0]))
def test_shuffles(mode, by, c):
    values = LANES * 3 + 100
    each = np.full(32, by, np.uint32)
    got = execute(f"shfl.sync.{mode}.b32", [("b32", values), ("b32", each)], "b32", f"{c}, -1", also="pred")
    want = shuffled(mode, values.tolist(), each.tolist(), c)
    assert got[0].tolist() == want[0]
    assert got[1].tolist() == want[1]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=32, max_size=32))
def test_reductions(values):
    a = np.array(values, np.int32)
    for name, want in {"add": (sum(values) + 2**31) % 2**32 - 2**31, "min": min(values), "max": max(values)}.items():
        assert execute(f"redux.sync.{name}.s32", [("s32", a)], "s32", "-1").tolist() == [want] * 32
    unsigned = a.view(np.uint32)
    for name, ufunc in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
        assert (
            execute(f"redux.sync.{name}.b32", [("b32", unsigned)], "b32", "-1").tolist()
            == [ufunc.reduce(unsigned)] * 32
        )
    floats = np.where(a % 7 == 0, np.nan, a).astype(np.float32)
    floats[0] = 1
    for name, want in {"min": np.nanmin(floats), "max": np.nanmax(floats)}.items():
        assert execute(f"redux.sync.{name}.f32", [("f32", floats)], "f32", "-1").tolist() == [want] * 32


def run(body, threads=32, **values):
    tensors = {name: as_bytes(array, array.dtype) for name, array in values.items()}
    report = launch(kernel(body, list(tensors)), tensors, threads)
    return {name: tensors[name].numpy().view(values[name].dtype) for name in values}, report


STORE = "mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; st.global.b32 [%rd1], %r1;"


@pytest.mark.parametrize(("vote", "want"), [("all", 0), ("any", 1), ("uni", 0)])
def test_votes(vote, want):
    body = f"setp.lt.u32 %p0, %tid_x, 5; vote.sync.{vote}.pred %p1, %p0, -1; selp.b32 %r1, 1, 0, %p1; {STORE}"
    assert run(body, out=np.zeros(32, np.uint32))[0]["out"].tolist() == [want] * 32


def test_a_ballot_counts_only_lanes_that_are_there():
    body = f"""
    setp.lt.u32 %p0, %tid_x, 20;
    mov.b32 %r1, 7;
    @!%p0 bra $over;
    and.b32 %r2, %tid_x, 1;
    setp.eq.u32 %p1, %r2, 0;
    vote.sync.ballot.b32 %r1, %p1, 0xFFFFF;
    $over:
    {STORE}"""
    found, report = run(body, out=np.zeros(32, np.uint32))
    assert found["out"].tolist() == [0x55555] * 20 + [7] * 12
    assert not report.findings


def test_a_mask_that_names_an_absent_lane_is_a_finding():
    body = f"""
    setp.lt.u32 %p0, %tid_x, 20;
    mov.b32 %r1, 7;
    @!%p0 bra $over;
    shfl.sync.idx.b32 %r1, %tid_x, 0, 31, -1;
    $over:
    {STORE}"""
    _, report = run(body, out=np.zeros(32, np.uint32))
    assert [f.kind for f in report.findings] == ["divergent"]
    assert "names lane 20, which took another branch" in report.findings[0].message


def test_a_lane_that_its_own_mask_does_not_name_is_noticed():
    """Undefined by PTX ISA, 9.7.13."""
    _, report = run(f"redux.sync.add.u32 %r1, %tid_x, 65535; {STORE}", out=np.zeros(32, np.uint32))
    assert [f.kind for f in report.findings] == ["divergent"]
    assert "redux of lane 16, " in report.findings[0].message
    assert "does not name the lane itself" in report.findings[0].message


def test_a_small_block_need_not_name_lanes_that_it_lacks():
    found, report = run(f"redux.sync.add.u32 %r1, 1, 1048575; {STORE}", 20, out=np.zeros(20, np.uint32))
    assert found["out"].tolist() == [20] * 20
    assert not report.findings


def test_lanes_that_have_ended_need_not_come():
    body = f"""
    setp.ge.u32 %p0, %tid_x, 20;
    @%p0 ret;
    shfl.sync.idx.b32 %r1, %tid_x, 3, 31, -1;
    {STORE}"""
    found, report = run(body, out=np.zeros(32, np.uint32))
    assert found["out"].tolist() == [3] * 20 + [0] * 12
    assert not report.findings


def test_one_lane_is_elected():
    body = f"setp.gt.u32 %p0, %tid_x, 9; @!%p0 ret; elect.sync %r2|%p1, -1; selp.b32 %r1, %r2, 0, %p1; {STORE}"
    want = [0] * 32
    want[10] = 10
    assert run(body, out=np.zeros(32, np.uint32))[0]["out"].tolist() == want


def test_machine_registers_of_lanes():
    body = f"""
    mov.u32 %r2, %laneid; mov.u32 %r3, %warpid; shl.b32 %r3, %r3, 8; or.b32 %r1, %r2, %r3; {STORE}"""
    want = [lane % 32 | lane // 32 << 8 for lane in range(64)]
    assert run(body, 64, out=np.zeros(64, np.uint32))[0]["out"].tolist() == want
    for name, mask in {"lt": lambda i: (1 << i) - 1, "le": lambda i: (2 << i) - 1, "eq": lambda i: 1 << i,
                       "gt": lambda i: 2**32 - (2 << i), "ge": lambda i: 2**32 - (1 << i)}.items():  # fmt: skip
        found = run(f"mov.u32 %r1, %lanemask_{name}; {STORE}", out=np.zeros(32, np.uint32))[0]["out"]
        assert found.tolist() == [mask(i) for i in range(32)]
