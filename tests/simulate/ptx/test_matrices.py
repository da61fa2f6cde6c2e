"""ldmatrix, stmatrix and mma.sync against the element tables of the PTX ISA, written out lane by lane."""

import re

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from tests.simulate.ptx.snippets import as_bytes, given, kernel, launch

LANES = range(32)


# ldmatrix -------------------------------------------------------------------------------------------------------


def load_matrices(count, transposed, rows):
    """What each lane has after ldmatrix.xN of a shared memory that holds 0, 1, 2, … as 16-bit numbers.

    rows: the byte address that each lane gives.
    """
    registers = [f"%r{n + 10}" for n in range(count)]
    trans = ".trans" if transposed else ""
    body = """
    mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_rows, %rd0; ld.global.b32 %r1, [%rd1];
    mul.wide.u32 %rd2, %tid_x, 64; add.s64 %rd3, %rd_data, %rd2;
    mul.lo.u32 %r2, %tid_x, 64;
    mov.u32 %r3, smem; add.u32 %r2, %r2, %r3; add.u32 %r1, %r1, %r3;
    """ + "".join(
        f"ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd3+{16 * n}];\n"
        f"st.shared.v4.b32 [%r2+{16 * n}], {{%r4, %r5, %r6, %r7}};\n"
        for n in range(4)
    )
    body += f"bar.sync 0;\nldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{', '.join(registers)}}}, [%r1];\n"
    body += "mul.wide.u32 %rd4, %tid_x, 16; add.s64 %rd5, %rd_out, %rd4;\n"
    body += "".join(f"st.global.b32 [%rd5+{4 * n}], {name};\n" for n, name in enumerate(registers))
    out = torch.zeros(32 * 16, dtype=torch.uint8)
    data = np.arange(1024, dtype=np.uint16)
    tensors = {"rows": as_bytes(np.array(rows), np.uint32), "data": as_bytes(data, np.uint16), "out": out}
    report = launch(kernel(body, list(tensors), shared=2048), tensors)
    return out.numpy().view(np.uint16).reshape(32, 4, 2)[:, :count], report


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
@given(data=st.data())
def test_ldmatrix_by_the_isas_table(count, transposed, data):
    """9.7.14.5.15: lane l has elements (l / 4, 2·(l % 4) + i) of each matrix, whose rows lanes 8·m + r point at."""
    rows = data.draw(st.lists(st.integers(0, 127).map(lambda n: 16 * n), min_size=32, max_size=32))
    got, report = load_matrices(count, transposed, rows)
    for lane in LANES:
        for matrix in range(count):
            for i in range(2):
                row, column = lane // 4, 2 * (lane % 4) + i
                if transposed:
                    row, column = column, row
                assert got[lane, matrix, i] == rows[8 * matrix + row] // 2 + column
    assert not report.findings


def test_ldmatrix_takes_a_wavefront_for_each_matrix_without_conflicts():
    _, report = load_matrices(4, False, [16 * lane for lane in LANES])
    assert report.total("shared", "ldmatrix") == (4, 4)
    _, report = load_matrices(4, False, [128 * (lane % 8) for lane in LANES])  # eight rows in the same four banks
    assert report.total("shared", "ldmatrix") == (32, 4)


def test_stmatrix_is_ldmatrix_in_reverse():
    body = """
    mov.u32 %r3, smem; and.b32 %r1, %tid_x, 15; shl.b32 %r1, %r1, 4; add.u32 %r1, %r1, %r3;
    mul.lo.u32 %r4, %tid_x, 2; add.u32 %r5, %r4, 64;
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r4, %r5};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r6, %r7}, [%r1];
    sub.u32 %r6, %r6, %r4; sub.u32 %r7, %r7, %r5; or.b32 %r6, %r6, %r7;
    mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd1, %rd_out, %rd0; st.global.b32 [%rd1], %r6;
    """
    out = torch.full((128,), 7, dtype=torch.uint8)
    launch(kernel(body, ["out"], shared=256), {"out": out})
    assert not out.any()


# mma ------------------------------------------------------------------------------------------------------------


def places(which, shape, lane, i, bits):
    """(row, column) of element i of a lane's fragment: the formulas of PTX ISA, 9.7.14.5.1 to .13.

    For B the row is along K.
    """
    group, member = lane >> 2, lane % 4
    if which == "C":
        return group + 8 * (i >> 1), member * 2 + (i & 1)
    wide = 32 // bits  # elements in a register
    if which == "A":
        register = i // wide
        return group + 8 * (register & 1), member * wide + i % wide + 4 * wide * (register >> 1)
    return member * wide + i % wide + 4 * wide * (i // wide), group


TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "tf32": torch.float32, "s8": torch.int8,
         "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}  # fmt: skip
NAMES = [
    *(f"m16n8k{k}.row.col.f32.{kind}.{kind}.f32" for k, kind in (
        (16, "bf16"), (16, "f16"), (8, "bf16"), (8, "tf32"), (4, "tf32"), (32, "e4m3"), (32, "e5m2"))),
    "m16n8k32.row.col.s32.s8.s8.s32",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_mma_by_the_isas_tables(name):
    m, n, k = shape = tuple(map(int, re.findall(r"\d+", name.split(".")[0])))
    dtype = TYPES[name.split(".")[4]]
    accumulator = np.int32 if dtype == torch.int8 else np.float32
    rng = np.random.default_rng(0)  # 8 bits each, which all types but FP8 hold
    a, b, c = (torch.from_numpy(rng.integers(-99, 99, size)) for size in ((m, k), (k, n), (m, n)))
    a, b = a.to(dtype), b.to(dtype)
    words = {}
    for which, matrix in (("A", a), ("B", b), ("C", torch.from_numpy(c.numpy().astype(accumulator)))):
        elements, bits = matrix.numel() // 32, 8 * matrix.element_size()
        at = [places(which, shape, lane, i, bits) for lane in LANES for i in range(elements)]
        fragment = torch.stack([matrix.view(torch.uint8).view(*matrix.shape, -1)[place] for place in at])
        words[which] = fragment.numpy().reshape(32, -1).view(np.uint32)
    registers, lines, names = {}, [], iter(range(10, 60))
    for which, table in words.items():
        count = table.shape[1]
        registers[which] = [f"%r{next(names)}" for _ in range(count)]
        lines.append(f"mul.wide.u32 %rd0, %tid_x, {4 * count}; add.s64 %rd1, %rd_{which}, %rd0;")
        lines += [f"ld.global.b32 {r}, [%rd1+{4 * j}];" for j, r in enumerate(registers[which])]
    registers["D"] = [f"%r{next(names)}" for _ in range(4)]
    operands = ", ".join("{" + ", ".join(registers[which]) + "}" for which in "DABC")
    lines.append(f"mma.sync.aligned.{name} {operands};")
    lines.append("mul.wide.u32 %rd0, %tid_x, 16; add.s64 %rd1, %rd_out, %rd0;")
    lines += [f"st.global.b32 [%rd1+{4 * j}], {r};" for j, r in enumerate(registers["D"])]
    tensors = {which: as_bytes(table, np.uint32) for which, table in words.items()}
    tensors["out"] = torch.zeros(512, dtype=torch.uint8)
    launch(kernel("\n".join(lines), list(tensors)), tensors)
    got = tensors["out"].numpy().view(accumulator).reshape(32, 4)
    want = (a.double() @ b.double() + c).numpy()
    for lane in LANES:
        for i in range(4):
            assert got[lane, i] == pytest.approx(want[places("C", shape, lane, i, 32)], rel=1e-6, abs=1e-6)
