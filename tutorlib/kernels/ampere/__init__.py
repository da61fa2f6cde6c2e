"""The GEMM of notebooks 09 to 12, for sm_80: cp.async, ldmatrix and mma.sync."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "LINE VECTOR GemmConfig",
        "gemm": "make_gemm store_elements store_through_smem",
        "main_loops": "TUNED multistage",
        "thread_share": "Accumulators GlobalToShared Operand Steps make_mma smem_layout",
        "tutorlib.kernels.ladder": "in_eights",
        "tutorlib.kernels": "ConfigError",
    },
)
