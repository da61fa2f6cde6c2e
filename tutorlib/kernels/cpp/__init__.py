"""Kernels in CUDA Tile C++, written by Python: notebook 08's, with its choices as fields."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "gemm": "PROMISES SILENT THREE_STAGES WAYS Variant",
        "program": "in_tiles",
    },
)
