"""The GEMMs of notebook 07, in cuTile."""

from tutorlib import lazy

__getattr__ = lazy(
    __name__,
    {
        "fp8": "slabs",
        "gemm": "Config compiled tile_of_product",
    },
)
