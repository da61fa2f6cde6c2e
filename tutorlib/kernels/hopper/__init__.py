"""A GEMM for Hopper: TMA, mbarriers and WGMMA, as one configurable kernel, and the rule that configures it."""
