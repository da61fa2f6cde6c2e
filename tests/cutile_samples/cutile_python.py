"""NVIDIA/cutile-python: the kernels of test/kernels/, and the two of samples/ that are not also there."""

import torch
from torch import randn
from torch.nn import functional

from tests.cutile_samples.references import attention, causal, tiles
from tests.cutile_samples.table import BF16, CUTILE_PYTHON, FP16, FP32, TF32, Case, sample

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
TOLERANCE = {torch.float16: FP16, torch.bfloat16: BF16, torch.float32: TF32}


@sample(CUTILE_PYTHON, "samples.quickstart.VectorAdd_quickstart")
def quickstart(module):
    a, b = torch.rand(1000), torch.rand(1000)
    return Case(module.vector_add, (tiles(1000, 16),), (a, b, torch.zeros(1000), 16), {2: a + b})


@sample(CUTILE_PYTHON, "kernels.vec_add", gather=[False, True])
def vector_add(module, gather):
    kernel = module.vec_add_kernel_1d_gather if gather else module.vec_add_kernel_1d
    a, b = randn(1000), randn(1000)
    return Case(kernel, (tiles(1000, 128),), (a, b, torch.zeros(1000), 128), {2: a + b}, tolerance=0)


@sample(CUTILE_PYTHON, "kernels.vec_add", gather=[False, True])
def matrix_add(module, gather):
    kernel = module.vec_add_kernel_2d_gather if gather else module.vec_add_kernel_2d
    a, b = randn(70, 45), randn(70, 45)
    grid = (tiles(70, 32), tiles(45, 16))
    return Case(kernel, grid, (a, b, torch.zeros(70, 45), 32, 16), {2: a + b}, tolerance=0)


@sample(CUTILE_PYTHON, "kernels.transpose")
def transpose(module):
    x = randn(100, 70)
    grid = (tiles(100, 32), tiles(70, 16))
    return Case(module.transpose_kernel, grid, (x, torch.zeros(70, 100), 32, 16), {1: x.T}, tolerance=0)


def matrices(m, n, k, dtype):
    """a, b, a c to fill, and what is to be in it."""
    a, b = randn(m, k).to(dtype), randn(k, n).to(dtype)
    return a, b, torch.zeros(m, n, dtype=dtype), a.double() @ b.double()


@sample(CUTILE_PYTHON, "kernels.matmul", dtype=FLOATS)
def matmul(module, dtype):
    a, b, c, want = matrices(152, 88, 200, dtype)
    grid = (tiles(152, 32) * tiles(88, 32),)
    return Case(module.matmul_kernel, grid, (a, b, c, 32, 32, 64), {2: want}, TOLERANCE[dtype])


@sample(CUTILE_PYTHON, "kernels.matmul", dtype=[torch.float16, torch.float32])
def persistent_matmul(module, dtype):
    a, b, c, want = matrices(152, 88, 200, dtype)
    return Case(module.persistent_matmul_kernel, (4,), (a, b, c, 32, 32, 64), {2: want}, TOLERANCE[dtype])


@sample(CUTILE_PYTHON, "kernels.matmul")
def split_k_matmul(module):
    """Four blocks add to each tile of C, one after another: a spin lock and a count for each tile."""
    a, b, c, want = matrices(96, 64, 512, torch.float32)
    blocks = tiles(96, 32) * tiles(64, 32)
    locks, counts = torch.zeros(blocks, dtype=torch.int32), torch.zeros(blocks, dtype=torch.int32)
    args = (a, b, c, locks, counts, 32, 32, 64, 4)
    return Case(
        module.matmul_split_k_kernel, (blocks, 4), args, {2: want, 3: torch.zeros(blocks), 4: torch.zeros(blocks)}, TF32
    )


@sample(CUTILE_PYTHON, "kernels.matmul", dtype=[torch.float16, torch.float8_e4m3fn])
def batch_matmul(module, dtype):
    a, b = randn(3, 80, 96).to(dtype), randn(3, 96, 48).to(dtype)
    c = torch.zeros(3, 80, 48, dtype=torch.float32 if dtype.itemsize == 1 else dtype)
    grid = (3, tiles(80, 32), tiles(48, 32))
    want = torch.bmm(a.double(), b.double())
    return Case(
        module.batch_matmul_kernel,
        grid,
        (a, b, c, 32, 32, 32),
        {2: want},
        FP16,
        needs=89 if dtype.itemsize == 1 else 80,
    )


@sample(CUTILE_PYTHON, "kernels.group_gemm")
def group_gemm(module):
    shapes = [(64, 32, 96), (40, 56, 64), (96, 64, 32)]
    a, b, c, want = (list(part) for part in zip(*(matrices(*shape, torch.float16) for shape in shapes), strict=True))
    return Case(module.grouped_matmul_kernel, (4,), (a, b, c, 4, 32, 32, 32), {2: want}, FP16)


@sample(CUTILE_PYTHON, "samples.AllGatherMatmul")
def all_gather_matmul(module):
    """The peers' rows come as a list of arrays, here all in the memory of one device."""
    peers, w = [randn(64, 96) for _ in range(4)], randn(96, 64)
    want = torch.cat(peers).double() @ w.double()
    args = (peers, w, torch.zeros(256, 64), 32, 32, 32)
    return Case(module.gather_matmul_kernel, (8, 2), args, {2: want}, TF32)


@sample(CUTILE_PYTHON, "kernels.scaled_matmul", swizzled=[False, True])
def block_scaled_matmul(module, swizzled):
    """Scales of 32 elements each, in rows or in the order that the tensor core reads them in."""
    from kernels.kernel_utils import block_quantize, swizzle_32_4_4

    a, scale_a = block_quantize(randn(256, 256), 32)
    b, scale_b = block_quantize(randn(128, 256), 32)
    wide_a, wide_b = (x.double() * scale.double().repeat_interleave(32, 1) for x, scale in ((a, scale_a), (b, scale_b)))
    scales = (swizzle_32_4_4(scale_a), swizzle_32_4_4(scale_b)) if swizzled else (scale_a, scale_b.T.contiguous())
    args = (a, scales[0], b.T, scales[1], torch.zeros(256, 128), 128, 128, 128, 32)
    return Case(module.block_scaled_matmul_kernel, (2,), args, {4: wide_a @ wide_b.T}, needs=100)


@sample(CUTILE_PYTHON, "kernels.layer_norm")
def layer_norm(module):
    x, w, b = randn(12, 200), randn(200), randn(200)
    y, mean, rstd = torch.native_layer_norm(x, (200,), w, b, 1e-5)
    args = (x, w, b, torch.zeros(12, 200), torch.zeros(12), torch.zeros(12), 1e-5, 64)
    return Case(module.layer_norm_fwd, (12,), args, {3: y, 4: mean[:, 0], 5: rstd[:, 0]})


@sample(CUTILE_PYTHON, "kernels.layer_norm")
def layer_norm_backward(module):
    """The gradients of w and b are summed over groups of rows: four partial sums, each behind a lock."""
    x, w, dy = randn(12, 200), randn(200), randn(12, 200)
    _, mean, rstd = torch.native_layer_norm(x, (200,), w, None, 1e-5)
    dx, *_ = torch.ops.aten.native_layer_norm_backward(
        dy, x, (200,), mean, rstd, w, torch.zeros(200), [True, True, True]
    )
    dw, db = (part.reshape(3, 4, 200).sum(0) for part in (dy * (x - mean) * rstd, dy))
    locks = torch.zeros(4, dtype=torch.int32)
    args = (torch.zeros(12, 200), dy, torch.zeros(4, 200), torch.zeros(4, 200), x, w, mean[:, 0], rstd[:, 0], locks, 64)
    return Case(module.layer_norm_bwd_dx_partial_dwdb, (12,), args, {0: dx, 2: dw, 3: db, 8: torch.zeros(4)})


@sample(CUTILE_PYTHON, "kernels.layer_norm")
def layer_norm_backward_sums(module):
    dw, db = randn(24, 200), randn(24, 200)
    args = (dw, db, torch.zeros(200), torch.zeros(200), 16, 64)
    return Case(module.layer_norm_bwd_dwdb, (tiles(200, 64),), args, {2: dw.sum(0), 3: db.sum(0)})


def rms_case(kernel, width):
    x, w = randn(12, width), randn(width)
    rstd = (x.square().mean(1) + 1e-6).rsqrt()
    args = (x, w, torch.zeros(12, width), torch.zeros(12), width, 1e-6, 64)
    return Case(kernel, (12,), args, {2: functional.rms_norm(x, (width,), w, 1e-6), 3: rstd})


@sample(CUTILE_PYTHON, "kernels.rms_norm")
def rms_norm(module):
    return rms_case(module.rms_norm_kernel, 256)


@sample(CUTILE_PYTHON, "kernels.rms_norm")
def rms_norm_gather(module):
    return rms_case(module.rms_norm_kernel_gather, 200)


@sample(CUTILE_PYTHON, "kernels.rms_norm")
def rms_norm_persistent(module):
    x, w = randn(24, 256).half(), randn(256).half()
    want = functional.rms_norm(x.float(), (256,), w.float(), 1e-6)
    args = (x, torch.zeros_like(x), w, 4, 64, 256, 1e-6)
    return Case(module.rms_norm_kernel_static_persistent, (4,), args, {1: want}, FP16)


def twiddles(rows, columns, period):
    angle = torch.outer(torch.arange(rows), torch.arange(columns)).double() * (-2 * torch.pi / period)
    return torch.stack([angle.cos(), angle.sin()], -1).float()


def fft_inputs(batch, factors):
    """x, its transform, and the three matrices and two sets of twiddle factors of a transform in three steps."""
    f0, f1, f2 = factors
    n = f0 * f1 * f2
    x = torch.randn(batch, n, dtype=torch.complex64)
    parts = ((f0, f0, f0), (f1, f1, f1), (f2, f2, f2), (f0, f1 * f2, n), (f1, f2, f1 * f2))
    return torch.view_as_real(x), torch.view_as_real(torch.fft.fft(x)), [twiddles(*part) for part in parts]


@sample(CUTILE_PYTHON, "kernels.fft")
def fft(module):
    """All the batch is one tile, so one block does it."""
    x, want, factors = fft_inputs(4, (4, 8, 4))
    packed = x.reshape(4, 4, 64).contiguous()
    args = (packed, torch.zeros_like(packed), *factors, 128, 4, 8, 4, 4, 64)
    return Case(module.fft_kernel, (1,), args, {1: want.reshape(4, 4, 64)})


@sample(CUTILE_PYTHON, "kernels.fft_ref")
def fft_by_row(module):
    x, want, factors = fft_inputs(4, (4, 8, 4))
    return Case(module.fft_kernel, (4,), (x, torch.zeros_like(x), *factors, 128, 4, 8, 4), {1: want})


@sample(CUTILE_PYTHON, "kernels.fused_moe", weighted=[False, True])
def mixture_of_experts(module, weighted):
    """Each of 20 tokens goes through 2 of 4 experts' matrices; a token's row is A's row for both of its copies."""
    tokens, copies, experts, n, k = 20, 2, 4, 48, 64
    a, b = randn(tokens, k).bfloat16(), randn(experts, n, k).bfloat16()
    ids = torch.stack([torch.randperm(experts)[:copies] for _ in range(tokens)])
    weights = torch.rand(tokens * copies).bfloat16()
    token_ids, expert_ids = module.moe_align_tile_size_torch(ids, 16, experts)
    want = torch.einsum("tk,tcnk->tcn", a.float(), b.float()[ids]).reshape(-1, n)
    want = want * weights.float()[:, None] if weighted else want
    c = torch.zeros(tokens * copies, n).bfloat16()
    args = (a, b, c, weights, token_ids, expert_ids, copies, weighted, 16, 32, 32)
    return Case(module.fused_moe_kernel, (tiles(len(token_ids), 16) * tiles(n, 32),), args, {2: want}, BF16)


@sample(CUTILE_PYTHON, "kernels.fused_moe")
def silu_and_mul(module):
    a, b = randn(10, 96).bfloat16(), randn(10, 96).bfloat16()
    want = functional.silu(a.float()) * b.float()
    return Case(module.silu_and_mul_kernel, (10,), (a, b, torch.zeros_like(a), 128), {2: want}, BF16)


@sample(CUTILE_PYTHON, "kernels.attention", dtype=[torch.float16, torch.float32], is_causal=[False, True])
def flash_attention(module, dtype, is_causal):
    q, k, v = (randn(1, heads, 64, 16).to(dtype) for heads in (4, 2, 2))
    want, _ = attention(q, k, v, 0.25, causal(64, 64) if is_causal else None)
    args = (q, k, v, torch.zeros_like(q), 0.25, 0, 16, 4, 32, 32, 2, is_causal, True)
    return Case(module.fmha_kernel, (2, 4), args, {3: want}, FP16 if dtype == torch.float16 else FP32)


@sample(CUTILE_PYTHON, "kernels.attention")
def flash_attention_with_ragged_keys(module):
    """Masked by adding −∞, which takes a finite score: the padding of K must not be NaN."""
    q, k, v = randn(1, 4, 64, 16).half(), randn(1, 4, 80, 16).half(), randn(1, 4, 80, 16).half()
    want, _ = attention(q, k, v, 0.25)
    args = (q, k, v, torch.zeros_like(q), 0.25, 0, 16, 4, 32, 32, 1, False, False)
    return Case(module.fmha_kernel, (2, 4), args, {3: want}, FP16, undetermined=0.0)
