"""A tensor that a kernel is compiled for, and the course's dtypes by all their names."""

from dataclasses import dataclass
from typing import Any, Literal

DType = Literal["fp32", "fp16", "bf16", "e4m3", "int32"]


@dataclass(frozen=True)
class Names:
    """A dtype's size and what each library calls it. cuTile's names are torch's."""

    bytes: int
    torch: str
    cutlass: str


DTYPES: dict[DType, Names] = {
    "fp32": Names(4, "float32", "Float32"),
    "fp16": Names(2, "float16", "Float16"),
    "bf16": Names(2, "bfloat16", "BFloat16"),
    "e4m3": Names(1, "float8_e4m3fn", "Float8E4M3FN"),
    "int32": Names(4, "int32", "Int32"),
}


ALIGNED = 16  # bytes


@dataclass(frozen=True)
class TensorSpec:
    """A tensor in global memory that a kernel is compiled for: all of it but the data.

    order: for each mode its place from the fastest-running on, as CuTe's `stride_order`: (1, 0) is row-major, which
        is the default for every rank: the last mode is contiguous.
    dynamic: the sizes and strides are left to the call, as `mark_layout_dynamic` does; the contiguous stride stays 1.
    divisibility: in a dynamic layout, a number that the contiguous size is known to be a multiple of.
    Its address is known to be a multiple of ALIGNED bytes.
    """

    shape: tuple[int, ...]
    dtype: DType = "fp32"
    order: tuple[int, ...] | None = None
    dynamic: bool = False
    divisibility: int = 1

    @classmethod
    def like(cls, tensor: Any, dynamic: bool = False) -> "TensorSpec":
        """The type of a contiguous torch tensor."""
        by_torch = {names.torch: dtype for dtype, names in DTYPES.items()}
        return cls(tuple(tensor.shape), by_torch[str(tensor.dtype).removeprefix("torch.")], dynamic=dynamic)

    @property
    def stride_order(self) -> tuple[int, ...]:
        return self.order or tuple(reversed(range(len(self.shape))))

    def fake(self) -> Any:
        """The stand-in for a cute.Tensor that `cute.compile` takes."""
        import cutlass
        from cutlass import cute
        from cutlass.cute.runtime import make_fake_compact_tensor

        shape: tuple[int | cute.SymInt, ...] = self.shape
        if self.dynamic:
            shape = tuple(
                cute.sym_int(divisibility=self.divisibility if place == 0 else 1) for place in self.stride_order
            )
        return make_fake_compact_tensor(
            getattr(cutlass, DTYPES[self.dtype].cutlass),
            shape,
            stride_order=self.stride_order,
            memspace=cute.AddressSpace.gmem,
            assumed_align=ALIGNED,
        )

    def constraint(self) -> Any:
        """cuTile's assumptions about a contiguous torch tensor of this shape: int32 indices, multiples of 16 bytes.

        Sizes are never constants in cuTile's own launch, so `dynamic` makes no difference here.
        """
        import cuda.tile as ct
        from cuda.tile.compilation import ArrayConstraint

        fastest, names = self.stride_order.index(0), DTYPES[self.dtype]
        vector = ALIGNED // names.bytes
        return ArrayConstraint(
            getattr(ct, names.torch),
            len(self.shape),
            index_dtype=ct.int32,
            stride_lower_bound_incl=0,
            alias_groups=(),
            may_alias_internally=False,
            stride_constant=tuple(1 if mode == fastest else None for mode in range(len(self.shape))),
            stride_divisible_by=tuple(
                vector if mode != fastest and self.shape[fastest] % vector == 0 else 1
                for mode in range(len(self.shape))
            ),
            shape_divisible_by=tuple(vector if size % vector == 0 else 1 for size in self.shape),
            base_addr_divisible_by=ALIGNED,
        )
