"""Sweeps: what takes more kernels and sizes than an exercise has. `tutor sweep` measures, `tutor plots` draws."""

from importlib import import_module
from pathlib import Path

from tutorlib.instruments.sweeps.sweep import Sweep

# Modules of this folder, each with a function for each of its sweeps. They import CuTe or cuTile, so only when asked.
MODULES = {
    "ampere": (
        *("coalescing", "copy_rungs", "copy_naive", "gemm_rungs", "gemm_nvidia", "gemm_stages", "gemm_depth"),
        *("gemm_orders", "gemm_pitch", "gemm_waves"),
    ),
    "tiles": (*("softmax_rows", "tile_rungs", "tile_fp8", "tile_space", "cpp_vectors", "cpp_promises", "cpp_ways"),),
    "hopper": ("gemm_any", "gemm_bands", "hopper_levers", "hopper_fp8", "gemm_models", "gemm_quack"),
    "fusion": ("fused_epilogues", "mlp_forward"),
    "attention": (
        *("attention_full", "attention_causal", "attention_levers", "attention_tuning", "attention_backward"),
        "decode",
    ),
}
SWEEPS = {name: module for module, names in MODULES.items() for name in names}
RECORDS = {"launches": "launches", "sanitizer": "sanitizing"}  # measured in their own ways


def make_sweep(name: str) -> Sweep:
    """The sweep of this name. Raises NoExample where it needs NVIDIA's example and that is not here."""
    return getattr(import_module(f"{__name__}.{SWEEPS[name]}"), name)()


def record(name: str) -> Path:
    """Measure one of RECORDS. Raises Failed and ToolMissing."""
    return import_module(f"tutorlib.instruments.{RECORDS[name]}").record()
