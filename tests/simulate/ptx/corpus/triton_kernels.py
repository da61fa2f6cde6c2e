"""A matmul and attention as people write them in Triton, and what compiles them, on any machine, to triton_NAME.ptx.

`pip download --no-deps triton` and unpack the wheel; then `PYTHONPATH=WHEEL python triton_kernels.py`. The PTX that is
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


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, T, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dim, columns = tl.arange(0, D), tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + rows[:, None] * D + dim[None, :], mask=rows[:, None] < T, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, T, BLOCK_N):
        keys = start + columns
        k = tl.load(k_ptr + keys[None, :] * D + dim[:, None], mask=keys[None, :] < T, other=0.0)
        scores = tl.where(keys[None, :] < T, tl.dot(q, k) * scale, -float("inf"))
        larger = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(largest - larger)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_ptr + keys[:, None] * D + dim[None, :], mask=keys[:, None] < T, other=0.0)
        out = tl.dot(weights.to(tl.float16), v, out * shrink[:, None])
        largest = larger
    tl.store(out_ptr + rows[:, None] * D + dim[None, :], (out / total[:, None]).to(tl.float16), mask=rows[:, None] < T)


MATMUL = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32",
          "stride_a": "i32", "stride_b": "i32", "stride_c": "i32"}  # fmt: skip
ATTENTION = {"q_ptr": "*fp16", "k_ptr": "*fp16", "v_ptr": "*fp16", "out_ptr": "*fp16", "T": "i32", "scale": "fp32"}
ANY_VALUE = ("M", "T", "scale")  # the others are multiples of 16, without which Triton copies element by element


def compile_kernel(kernel: triton.JITFunction, types: dict[str, str], constants: dict[str, int]) -> str:
    multiples = {(n,): [["tt.divisibility", 16]] for n, name in enumerate(types) if name not in ANY_VALUE}
    source = ASTSource(kernel, types | dict.fromkeys(constants, "constexpr"), constexprs=constants, attrs=multiples)
    options = {"num_warps": 4, "num_stages": 3}
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
    print(kernel.__name__, "asks for", compiled.metadata.shared, "bytes of shared memory")
    without_dwarf = re.sub(r"\t\.section\s+\.debug_\w+\s*\{[^}]*\}\n", "", compiled.asm["ptx"])  # it names folders
    for folder in (Path(__file__).parent, Path(triton.__file__).parents[1]):
        without_dwarf = without_dwarf.replace(f"{folder}/", "")
    return without_dwarf


if __name__ == "__main__":
    for name, ptx in (
        ("matmul", compile_kernel(matmul, MATMUL, {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32})),
        ("attention", compile_kernel(attention, ATTENTION, {"D": 64, "BLOCK_M": 64, "BLOCK_N": 32})),
    ):
        Path(__file__).with_name(f"triton_{name}.ptx").write_text(ptx, encoding="utf-8")
