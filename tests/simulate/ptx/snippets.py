"""PTX kernels of a few lines, for tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hypothesis
import numpy as np
import torch

from tutorlib.simulate.ptx import Report, run
from tutorlib.simulate.ptx.types import bits_of, numpy_type

EXAMPLES = 15  # an example fills all lanes of a few warps


def given(*strategies: Any, **named: Any) -> Callable[..., Any]:
    """As hypothesis.given, with fewer examples."""
    few = hypothesis.settings(max_examples=EXAMPLES)
    return lambda test: few(hypothesis.given(*strategies, **named)(test))


HEAD = """
.version 9.4
.target sm_80
.address_size 64
"""


def kernel(body: str, pointers: Sequence[str] = (), shared: int = 0, registers: str = "") -> str:
    """A module of one kernel. pointers: parameters, whose addresses are in %rd_NAME; %tid is the thread, %r_0 … and
    others are free."""
    parameters = ",\n".join(f".param .u64 p_{name}" for name in pointers)
    loads = "\n".join(f"ld.param.u64 %rd_{name}, [p_{name}];" for name in pointers)
    memory = f".shared .align 128 .b8 smem[{shared}];" if shared else ""
    return f"""{HEAD}
.visible .entry k({parameters})
{{
.reg .pred %p<20>;
.reg .b16 %h<20>;
.reg .b32 %r<60>;
.reg .f32 %f<20>;
.reg .b64 %rd<20>;
.reg .b32 %tid_x;
.reg .b64 {", ".join(f"%rd_{name}" for name in (*pointers, "own"))};
{registers}
{memory}
mov.u32 %tid_x, %tid.x;
{loads}
{body}
ret;
}}
"""


def launch(
    ptx: str, tensors: Mapping[str, torch.Tensor], threads: int = 32, blocks: int = 1, dynamic_smem: int = 0
) -> Report:
    return run(ptx, (blocks,), (threads,), tensors, dynamic_smem)


def execute(
    opcode: str, inputs: Sequence[tuple[str, np.ndarray]], output: str, constants: str = "", also: str = ""
) -> np.ndarray:
    """The results of one instruction, lane by lane. inputs: (PTX type, values) each.

    constants: operands after the inputs, as text. also: a second result's type, which is then given after the first.
    """
    count = len(inputs[0][1])
    names = [f"in{n}" for n in range(len(inputs))]
    outputs = [kind for kind in (output, also) if kind]
    registers, lines = [], []
    for n, (kind, _) in enumerate(inputs):
        width = bits_of(kind) // 8
        registers.append(f".reg .b{max(width * 8, 16)} %in{n};")
        lines += address(f"%rd_in{n}", width)
        lines.append(f"ld.global.{'u8' if width == 1 else f'b{width * 8}'} %in{n}, [%rd_own];")
    for n, kind in enumerate(outputs):
        registers.append(f".reg .b{max(bits_of(kind), 16)} %out{n};" if kind != "pred" else f".reg .pred %out{n};")
    results = "|".join(f"%out{n}" for n in range(len(outputs)))
    operands = ", ".join([results, *(f"%in{n}" for n in range(len(inputs))), *([constants] if constants else [])])
    lines.append(f"{opcode} {operands};")
    for n, kind in enumerate(outputs):
        if kind == "pred":
            registers.append(f".reg .b32 %flag{n};")
            lines += [
                f"selp.b32 %flag{n}, 1, 0, %out{n};",
                *address(f"%rd_out{n}", 4),
                f"st.global.b32 [%rd_own], %flag{n};",
            ]
        else:
            width = bits_of(kind) // 8
            store = "u8" if width == 1 else f"b{width * 8}"
            lines += [*address(f"%rd_out{n}", width), f"st.global.{store} [%rd_own], %out{n};"]
    given = {f"in{n}": as_bytes(values, numpy_type(kind)) for n, (kind, values) in enumerate(inputs)}
    made = {f"out{n}": torch.zeros(count * (4 if kind == "pred" else bits_of(kind) // 8), dtype=torch.uint8)
            for n, kind in enumerate(outputs)}  # fmt: skip
    ptx = kernel("\n".join(lines), [*names, *made], registers="\n".join(registers))
    launch(ptx, {**given, **made}, threads=count)
    found = [
        made[f"out{n}"].numpy().view(np.uint32 if kind == "pred" else numpy_type(kind)).copy()
        for n, kind in enumerate(outputs)
    ]
    return found[0] if len(found) == 1 else np.stack(found)


def address(base: str, width: int) -> list[str]:
    return [f"mul.wide.u32 %rd0, %tid_x, {width};", f"add.s64 %rd_own, {base}, %rd0;"]


def as_bytes(values: np.ndarray, dtype: object) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values).astype(dtype, copy=False).view(np.uint8).copy())  # type: ignore[call-overload]


# A whole kernel, and an edit of it.
DOUBLE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry doubled(.param .u64 x, .param .u64 y, .param .u32 n)
.reqntid 32
{
    .reg .pred %p<2>;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 32, %r3;
    setp.ge.s32 %p1, %r4, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd5], %f2;
DONE:
    ret;
}
"""
UNGUARDED = DOUBLE.replace("@%p1 bra DONE;", "")
