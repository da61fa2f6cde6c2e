"""The GEMM of notebooks 09 to 12, for sm_80: cp.async, ldmatrix and mma.sync."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "LINE VECTOR GemmConfig",
        "epilogues": "store_elements store_through_smem",
        "gemm": "make_gemm",
        "layouts": "smem_layout",
        "main_loops": "TUNED multistage",
        "thread_share": "Accumulators GlobalToShared Operand Steps make_mma",
        "tutorlib.kernels.ladder": "in_eights",
        "tutorlib.kernels": "ConfigError",
    },
)
