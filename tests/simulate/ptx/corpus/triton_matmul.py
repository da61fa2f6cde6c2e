"""A matmul as people write it in Triton, and what compiles it, on any machine, to triton_matmul.ptx beside this file.

`pip download --no-deps triton` and unpack the wheel; then `PYTHONPATH=WHEEL python triton_matmul.py`. The PTX that is
kept is of Triton 3.9.0. The course does not depend on Triton.
"""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_a + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < K - k) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_b
    c_ptrs = c_ptr + rows[:, None] * stride_c + columns[None, :]
    tl.store(c_ptrs, total.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


TYPES = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32",
         "stride_a": "i32", "stride_b": "i32", "stride_c": "i32"}  # fmt: skip
BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
ANY_SIZE = ("M",)  # the others are multiples of 16, without which Triton copies element by element


def compile_matmul() -> str:
    multiples = {(n,): [["tt.divisibility", 16]] for n, name in enumerate(TYPES) if name not in ANY_SIZE}
    source = ASTSource(matmul, TYPES | dict.fromkeys(BLOCKS, "constexpr"), constexprs=BLOCKS, attrs=multiples)
    options = {"num_warps": 4, "num_stages": 3}
    ptx = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options).asm["ptx"]
    without_dwarf = re.sub(r"\t\.section\s+\.debug_\w+\s*\{[^}]*\}\n", "", ptx)  # which names folders of this machine
    return without_dwarf.replace(f"{Path(__file__).parent}/", "")


if __name__ == "__main__":
    Path(__file__).with_suffix(".ptx").write_text(compile_matmul(), encoding="utf-8")
