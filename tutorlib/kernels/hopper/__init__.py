"""A GEMM for Hopper: TMA, mbarriers and WGMMA, as one configurable kernel, and the rule that configures it."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "ConfigError HopperConfig",
        "first": (
            "ALIGNMENT BOX STAGES THREADS TILE Accumulators BoxCopy Steps described make_accumulators make_wgmma "
            "out_layout"
        ),
        "gemm": "gemm_kernel",
        "parts": "Parts",
    },
)
