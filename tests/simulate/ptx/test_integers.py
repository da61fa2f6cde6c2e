"""Integer arithmetic against Python's, and atomics."""

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import as_bytes, execute, given, kernel, launch
from tutorlib.simulate.ptx.types import bits_of, numpy_type

KINDS = ("u32", "s32", "u64", "s64", "u16", "s16")
WIDE = ("u32", "s32", "u64", "s64")
SHORT = ("u32", "s32", "u16", "s16")
SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")


def range_of(kind):
    info = np.iinfo(numpy_type(kind))
    return int(info.min), int(info.max)


def numbers(kind, count=8):
    """Any numbers of a type, its edges among them; "place": of a bit, or how many."""
    if kind == "place":
        return st.lists(st.integers(0, 80), min_size=count, max_size=count)
    low, high = range_of(kind)
    edges = st.sampled_from([low, low + 1, -1 % (high + 1) if low == 0 else -1, 0, 1, 2, high - 1, high])
    return st.lists(st.one_of(st.integers(low, high), edges), min_size=count, max_size=count)


def cut(value, kind):
    """An integer modulo the type's range."""
    low, high = range_of(kind)
    return (value - low) % (high - low + 1) + low


def each(kinds, opcode, types, reference):
    """A row for each type t: its bits n, and w the type of twice its width. The reference is told the type."""
    for kind in kinds:
        names = {"t": kind, "n": f"b{kind[1:]}", "w": f"{kind[0]}{2 * bits_of(kind)}"}
        own = [names.get(name, name) for name in types.split()]
        yield f"{opcode.format(**names)}", own, lambda *given, kind=kind: reference(kind, *given)


def one(opcode, types, reference):
    return [(opcode, types.split(), reference)]


def quotient(t, a, b):
    return -1 if b == 0 else abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def field(t, a, start, length):
    """PTX ISA, 9.7.1.19"""
    start, length, bits = start & 255, length & 255, bits_of(t)
    sign = 0 if t[0] == "u" or length == 0 else a >> min(start + length - 1, bits - 1) & 1
    return sum(((a >> (start + i) & 1) if i < length and start + i < bits else sign) << i for i in range(bits))


def insert(a, b, start, length):
    """PTX ISA, 9.7.1.20"""
    for i in range(min(length, 32)):
        if start + i < 32:
            b = b & ~(1 << start + i) | (a >> i & 1) << start + i
    return b


def permute(a, b, selector):
    source, result = [x >> 8 * i & 255 for x in (a, b) for i in range(4)], 0
    for place in range(4):
        nibble = selector >> 4 * place & 15
        byte = source[nibble & 7]
        result |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * place
    return result


COMPARE = {"eq": int.__eq__, "ne": int.__ne__, "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__}
LOGIC = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
ROWS = [  # an opcode; the types of its result and its operands; the result, before it is cut to its type
    *each(KINDS, "add.{t}", "t t t", lambda t, a, b: a + b),
    *each(KINDS, "sub.{t}", "t t t", lambda t, a, b: a - b),
    *each(KINDS, "mul.lo.{t}", "t t t", lambda t, a, b: a * b),
    *each(KINDS, "mul.hi.{t}", "t t t", lambda t, a, b: a * b >> bits_of(t)),
    *each(SHORT, "mul.wide.{t}", "w t t", lambda t, a, b: a * b),
    *each(SHORT, "mad.wide.{t}", "w t t w", lambda t, a, b, c: a * b + c),
    *each(KINDS, "mad.lo.{t}", "t t t t", lambda t, a, b, c: a * b + c),
    *each(KINDS, "mad.hi.{t}", "t t t t", lambda t, a, b, c: (a * b >> bits_of(t)) + c),
    *each(KINDS, "div.{t}", "t t t", quotient),  # by zero all bits are set, as NVIDIA's GPUs have it
    *each(KINDS, "rem.{t}", "t t t", lambda t, a, b: a - quotient(t, a, b) * b if b else a),
    *each(KINDS, "min.{t}", "t t t", lambda t, a, b: min(a, b)),
    *each(KINDS, "max.{t}", "t t t", lambda t, a, b: max(a, b)),
    *one("min.relu.s32", "s32 s32 s32", lambda a, b: max(min(a, b), 0)),
    *one("max.relu.s32", "s32 s32 s32", lambda a, b: max(a, b, 0)),
    *each(SIGNED, "abs.{t}", "t t", lambda t, a: abs(a)),
    *each(SIGNED, "neg.{t}", "t t", lambda t, a: -a),
    *each(KINDS, "sad.{t}", "t t t t", lambda t, a, b, c: abs(a - b) + c),
    *(row for name, does in LOGIC.items() for row in each(UNSIGNED, name + ".{n}", "t t t",
                                                          lambda t, a, b, does=does: does(a, b))),
    *each(UNSIGNED, "not.{n}", "t t", lambda t, a: ~a),
    *each(KINDS, "shr.{t}", "t t place", lambda t, a, n: a >> min(n, bits_of(t))),
    *each(KINDS, "shl.{n}", "t t place", lambda t, a, n: a << n),
    *one("shf.r.wrap.b32", "u32 u32 u32 place", lambda a, b, n: (b << 32 | a) >> n % 32),
    *one("shf.r.clamp.b32", "u32 u32 u32 place", lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    *one("shf.l.wrap.b32", "u32 u32 u32 place", lambda a, b, n: (b << 32 | a) << n % 32 >> 32),
    *one("shf.l.clamp.b32", "u32 u32 u32 place", lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    *each(WIDE, "bfe.{t}", "t t place place", field),
    *one("bfi.b32", "u32 u32 u32 place place", insert),
    *one("popc.b32", "u32 u32", int.bit_count),
    *one("clz.b32", "u32 u32", lambda a: 32 - a.bit_length()),
    *one("brev.b32", "u32 u32", lambda a: int(f"{a:032b}"[::-1], 2)),
    *one("bfind.u32", "u32 u32", lambda a: a.bit_length() - 1),
    *one("bfind.s32", "u32 s32", lambda a: (~a if a < 0 else a).bit_length() - 1),
    *one("prmt.b32", "u32 u32 u32 u32", permute),
    *(row for name, does in COMPARE.items() for row in each(WIDE, f"setp.{name}" + ".{t}", "pred t t",
                                                            lambda t, a, b, does=does: does(a, b))),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "types", "reference"), ROWS, ids=[row[0] for row in ROWS])
@given(data=st.data())
def test_an_opcode(opcode, types, reference, data):
    to, *kinds = types
    values = [data.draw(numbers(kind)) for kind in kinds]
    kinds = ["u32" if kind == "place" else kind for kind in kinds]
    got = execute(opcode, [(kind, np.array(x, numpy_type(kind))) for kind, x in zip(kinds, values, strict=True)], to)
    want = [reference(*row) for row in zip(*values, strict=True)]
    assert [int(x) for x in got] == [int(x) if to == "pred" else cut(x, to) for x in want]


@given(numbers("u32"), numbers("u32"), numbers("u32"), st.integers(0, 255))
def test_any_function_of_three_bits(a, b, c, table):
    def function(x, y, z):
        return sum((table >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | z >> i & 1) & 1) << i for i in range(32))

    got = execute("lop3.b32", [("u32", np.array(values, np.uint32)) for values in (a, b, c)], "u32", str(table))
    assert got.tolist() == [function(*row) for row in zip(a, b, c, strict=True)]


def test_a_vector_of_registers_in_inline_assembly():
    """As QuACK declares one."""
    body = """{ .reg .v4 .s32 abcd; mov.s32 abcd.x, {%tid_x}; mov.s32 abcd.y, 1; mov.s32 abcd.z, 2; mov.s32 abcd.w, 3;
    mul.wide.u32 %rd0, %tid_x, 16; add.s64 %rd0, %rd_out, %rd0; st.global.v4.s32 [%rd0], abcd; }"""
    out = torch.zeros(32, 4, dtype=torch.int32)
    launch(kernel(body, ["out"]), {"out": out})
    assert out.tolist() == [[lane, 1, 2, 3] for lane in range(32)]


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
