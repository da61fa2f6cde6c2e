"""Attention's kernels on torch tensors: compiled once for each configuration, for all sizes and strides."""

import math
from functools import cache
from typing import Any

import cuda.tile as ct
import torch
from cutlass import BFloat16, Float32, cute
from cutlass.cute.runtime import from_dlpack, make_fake_stream, make_fake_tensor
from torch import Tensor

from tutorlib.kernels.attention import tiles
from tutorlib.kernels.attention.hopper import AttentionConfig, make_attention
from tutorlib.kernels.hopper.launch import ARCH, TVM_FFI

LOG2_E = math.log2(math.e)
FORWARD_TILE, BACKWARD_TILE = (128, 64), (64, 64)  # queries, keys


def attention_config(head_dim: int, causal: bool, group: int) -> AttentionConfig:
    """The fastest of those measured on an H100."""
    if head_dim == 64 and not causal:
        return AttentionConfig(head_dim, 192, 128, pingpong=False, group=group)
    return AttentionConfig(head_dim, 128, 128, causal=causal, group=group)


def attention_fakes(config: AttentionConfig) -> tuple[Any, ...]:
    """Stand-ins for q, k, v, o (batch, heads, tokens, head_dim) of any strides that TMA takes, and lse."""

    def tensor() -> Any:
        sizes = (*(cute.sym_int() for _ in range(3)), config.head_dim)
        strides = (*(cute.sym_int64(divisibility=8) for _ in range(3)), 1)
        return make_fake_tensor(BFloat16, sizes, strides, assumed_align=16)

    lse = make_fake_tensor(
        Float32, tuple(cute.sym_int() for _ in range(3)), (cute.sym_int64(), cute.sym_int64(), 1), assumed_align=4
    )
    return *(tensor() for _ in "qkvo"), lse


@cache
def compiled_attention(config: AttentionConfig) -> Any:
    stream = make_fake_stream(use_tvm_ffi_env_stream=True) if TVM_FFI else make_fake_stream()
    options = f"--gpu-arch {ARCH} {'--enable-tvm-ffi' if TVM_FFI else ''}"
    return cute.compile(make_attention(config), *attention_fakes(config), Float32(1), stream, options=options)


def as_cute(tensor: Tensor) -> cute.Tensor:
    """A cute.Tensor of dynamic shape whose last mode is contiguous."""
    aligned = 16 if tensor.dtype == torch.bfloat16 else 4
    return from_dlpack(tensor, assumed_align=aligned).mark_layout_dynamic(leading_dim=tensor.ndim - 1)


def attention_forward(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> tuple[Tensor, Tensor]:
    """(o, lse) on a Hopper GPU, for bf16 of head_dim 64 or 128 with strides that are multiples of 16 bytes."""
    o = torch.empty_like(q)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    forward_into(o, lse, q, k, v, scale, causal)
    return o, lse


def forward_into(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
    """The same, into o and lse."""
    launch = compiled_attention(attention_config(q.shape[3], causal, q.shape[1] // k.shape[1]))
    if TVM_FFI:
        launch(q, k, v, o, lse, scale)
    else:
        import cuda.bindings.driver as cuda

        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        launch(*(as_cute(x) for x in (q, k, v, o, lse)), Float32(scale), stream)


def forward_by_tiles(o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> None:
    """The same by cuTile."""
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    tm, tn = FORWARD_TILE
    grid = -(-queries // tm), heads, batch
    sizes = heads // kv_heads, causal, tm, tn, d
    ct.launch(torch.cuda.current_stream(), grid, tiles.tile_forward, (q, k, v, o, lse, scale * LOG2_E, *sizes))


def backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, scale: float, causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv), by three cuTile kernels; each adds in a fixed order."""
    (batch, heads, queries, d), (_, kv_heads, keys, _) = q.shape, k.shape
    tm, tn = BACKWARD_TILE
    group, stream = heads // kv_heads, torch.cuda.current_stream()
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    delta = torch.empty_like(lse)
    of_queries, of_keys = (-(-queries // tm), heads, batch), (-(-keys // tn), kv_heads, batch)
    ct.launch(stream, of_queries, tiles.delta_rows, (o, do, delta, tm, d))
    shared = (scale, group, causal, tm, tn, d)
    ct.launch(stream, of_keys, tiles.backward_keys, (q, k, v, do, lse, delta, dk, dv, *shared))
    ct.launch(stream, of_queries, tiles.backward_queries, (q, k, v, do, lse, delta, dq, *shared))
    return dq, dk, dv
