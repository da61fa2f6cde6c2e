"""Sweeps: what takes more kernels and sizes than an exercise has. `tutor sweep` measures, `tutor plots` draws."""

from importlib import import_module

from tutorlib.instruments.sweeps.sweep import Sweep

# Name → the module of this folder that has a function of that name. They import CuTe or cuTile, so only when asked.
SWEEPS = {
    "coalescing": "copies",
    "copy_rungs": "copies",
    "copy_naive": "copies",
    "copy_best": "copies",
    "gemm_rungs": "gemm",
    "gemm_nvidia": "gemm",
    "gemm_stages": "gemm",
    "gemm_depth": "gemm",
    "gemm_tries": "gemm",
    "gemm_orders": "gemm",
    "gemm_pitch": "gemm",
    "gemm_waves": "gemm",
    "softmax_rows": "cutile",
    "tile_rungs": "cutile",
    "tile_fp8": "cutile",
    "tile_space": "cutile",
    "tile_split_k": "cutile",
    "cpp_vectors": "cpp",
    "cpp_promises": "cpp",
    "cpp_ways": "cpp",
    "gemm_any": "hopper",
    "gemm_bands": "hopper",
    "hopper_levers": "hopper",
    "hopper_sustained": "hopper",
    "hopper_k": "hopper",
    "gemm_quack": "quack",
    "gemm_models": "models",
    "gemm_models_quack": "models",
    "hopper_fp8": "hopper",
    "hopper_timeline": "hopper",
    "fused_epilogues": "fusion",
    "mlp_forward": "fusion",
    "mlp_training": "fusion",
    "attention_full": "attention",
    "attention_causal": "attention",
    "attention_sustained": "attention",
    "attention_levers": "attention",
    "attention_tuning": "attention",
    "attention_backward": "attention",
    "decode": "attention",
    "decoder_layer": "decoder",
}


def make_sweep(name: str) -> Sweep:
    """The sweep of this name. Raises NoExample where it needs NVIDIA's example and that is not here."""
    return getattr(import_module(f"{__name__}.{SWEEPS[name]}"), name)()
