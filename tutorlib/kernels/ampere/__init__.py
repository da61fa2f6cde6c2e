"""The GEMM of notebooks 10 to 13, for sm_80: cp.async, ldmatrix and mma.sync."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "config": "LINE VECTOR GemmConfig",
        "gemm": "make_gemm store",
        "main_loops": "multistage",
        "thread_share": "Accumulators GlobalToShared Operand Steps make_copy_g2s make_mma make_operands",
    },
)
