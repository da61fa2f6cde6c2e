"""atom and red: as if one thread came after another."""

import numpy as np
import pytest
import torch

from tests.simulate.ptx.snippets import as_bytes, kernel, launch

THREADS = 64


def run(operation, kind, start, values, returns=True, space="global"):
    """Each of 64 threads changes element (thread % 4). Gives memory afterwards and what each thread found."""
    width = np.dtype(start.dtype).itemsize
    b = f"b{8 * width}"
    value = "%rd5" if width == 8 else "%r5"
    old = "%rd6" if width == 8 else "%r6"
    lines = [
        f"mul.wide.u32 %rd0, %tid_x, {width}; add.s64 %rd1, %rd_values, %rd0; ld.global.{b} {value}, [%rd1];",
        f"and.b32 %r1, %tid_x, 3; mul.wide.u32 %rd2, %r1, {width};",
    ]
    if space == "shared":
        lines.append("mov.u32 %r2, smem; cvt.u32.u64 %r3, %rd2; add.u32 %r2, %r2, %r3; add.s64 %rd3, %rd_memory, %rd2;")
        lines.append(
            f"setp.lt.u32 %p1, %tid_x, 4; @%p1 ld.global.{b} {old}, [%rd3]; "
            f"@%p1 st.shared.{b} [%r2], {old}; bar.sync 0;"
        )
        where = "[%r2]"
    else:
        lines.append("add.s64 %rd3, %rd_memory, %rd2;")
        where = "[%rd3]"
    lines.append(
        f"atom.{space}.{operation}.{kind} {old}, {where}, {value};"
        if returns
        else f"red.{space}.{operation}.{kind} {where}, {value};"
    )
    if space == "shared":
        lines.append(f"bar.sync 0; @%p1 ld.shared.{b} {value}, [%r2]; @%p1 st.global.{b} [%rd3], {value};")
    if returns:
        lines.append(f"add.s64 %rd4, %rd_old, %rd0; st.global.{b} [%rd4], {old};")
    tensors = {"memory": as_bytes(start, start.dtype), "values": as_bytes(values, values.dtype),
               "old": torch.zeros(THREADS * width, dtype=torch.uint8)}  # fmt: skip
    report = launch(kernel("\n".join(lines), list(tensors), shared=64), tensors, THREADS)
    return tensors["memory"].numpy().view(start.dtype), tensors["old"].numpy().view(start.dtype), report


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    ("name", "kind", "dtype"),
    [("add", "u32", np.uint32), ("add", "u64", np.uint64), ("min", "s32", np.int32), ("max", "u32", np.uint32),
     ("and", "b32", np.uint32), ("or", "b32", np.uint32), ("xor", "b32", np.uint32), ("exch", "b32", np.uint32),
     ("inc", "u32", np.uint32), ("dec", "u32", np.uint32), ("add", "f32", np.float32)],
)  # fmt: skip
def test_one_after_another(space, name, kind, dtype):
    rng = np.random.default_rng(1)
    start = rng.integers(0, 50, 4).astype(dtype)
    values = rng.integers(0, 50, THREADS).astype(dtype)
    memory, old, report = run(name, kind, start, values, space=space)
    state, found = start.copy(), []
    step = {
        "add": lambda x, v: x + v, "min": min, "max": max, "and": lambda x, v: x & v, "or": lambda x, v: x | v,
        "xor": lambda x, v: x ^ v, "exch": lambda x, v: v, "inc": lambda x, v: 0 if x >= v else x + 1,
        "dec": lambda x, v: v if x == 0 or x > v else x - 1,
    }[name]  # fmt: skip
    for thread in range(THREADS):
        found.append(state[thread % 4])
        state[thread % 4] = step(state[thread % 4], values[thread])
    assert memory.tolist() == state.tolist()
    assert old.tolist() == [x.item() for x in found]
    assert not report.findings


def test_reductions_give_nothing_back():
    memory, _, _ = run("add", "u32", np.zeros(4, np.uint32), np.ones(THREADS, np.uint32), returns=False)
    assert memory.tolist() == [16] * 4


def test_pairs_of_bf16_are_added():
    ones = torch.ones(2 * THREADS).bfloat16().view(torch.int32).numpy().view(np.uint32)
    memory, _, _ = run("add.noftz", "bf16x2", np.zeros(4, np.uint32), ones, returns=False)
    assert torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16).tolist() == [16.0] * 8


def test_blocks_that_add_atomically_do_not_overlap():
    body = "red.global.add.u32 [%rd_out], 1;"
    out = torch.zeros(4, dtype=torch.uint8)
    report = launch(kernel(body, ["out"]), {"out": out}, threads=40, blocks=7)
    assert out.numpy().view(np.uint32).tolist() == [280]
    assert not report.findings


def test_compare_and_swap_lets_one_thread_win():
    body = """
    add.u32 %r1, %tid_x, 1;
    atom.global.cas.b32 %r2, [%rd_out], 0, %r1;
    mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_found, %rd0; st.global.b32 [%rd1], %r2;
    """
    out, found = torch.zeros(4, dtype=torch.uint8), torch.zeros(128, dtype=torch.uint8)
    launch(kernel(body, ["out", "found"]), {"out": out, "found": found})
    assert out.numpy().view(np.uint32).tolist() == [1]
    assert found.numpy().view(np.uint32).tolist() == [0] + [1] * 31


def test_a_lock_that_threads_wait_for_lets_all_through():
    """A spin lock over blocks: who waits must not keep the one that holds it from going on."""
    body = """
    setp.ne.u32 %p0, %tid_x, 0;
    @%p0 ret;
    $again:
    atom.global.cas.b32 %r1, [%rd_lock], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $again;
    ld.global.volatile.b32 %r2, [%rd_count];
    add.u32 %r2, %r2, 1;
    st.global.volatile.b32 [%rd_count], %r2;
    membar.gl;
    atom.global.exch.b32 %r1, [%rd_lock], 0;
    """
    lock, count = torch.zeros(4, dtype=torch.uint8), torch.zeros(4, dtype=torch.uint8)
    report = launch(kernel(body, ["lock", "count"]), {"lock": lock, "count": count}, threads=32, blocks=5)
    assert count.numpy().view(np.uint32).tolist() == [5]
    assert not report.findings
