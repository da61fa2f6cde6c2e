"""A tensor that a kernel is compiled for, and the course's dtypes by all their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
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
        """The type of a torch tensor without gaps."""
        by_torch = {names.torch: dtype for dtype, names in DTYPES.items()}
        dtype = by_torch[str(tensor.dtype).removeprefix("torch.")]
        fastest = sorted(range(tensor.ndim), key=lambda mode: (tensor.stride(mode), -mode))
        order = None if tensor.is_contiguous() else tuple(map(fastest.index, range(tensor.ndim)))
        return cls(tuple(tensor.shape), dtype, order, dynamic)

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
            divisors = (self.divisibility if place == 0 else 1 for place in self.stride_order)
            shape = tuple(cute.sym_int(divisibility=divisor) for divisor in divisors)
        kind, gmem, order = getattr(cutlass, DTYPES[self.dtype].cutlass), cute.AddressSpace.gmem, self.stride_order
        return make_fake_compact_tensor(kind, shape, stride_order=order, memspace=gmem, assumed_align=ALIGNED)

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements, of a tensor without gaps."""
        order = self.stride_order
        return tuple(prod(n for n, other in zip(self.shape, order, strict=True) if other < mine) for mine in order)

    def constraint(self) -> Any:
        """cuTile's assumptions about a torch tensor of this kind.

        Sizes are never constants in cuTile's own launch, so `dynamic` makes no difference here.
        """
        return array_constraint(DTYPES[self.dtype].torch, self.shape, self.strides, ALIGNED)


def fakes(specs: Sequence[Any]) -> list[Any]:
    """Arguments for `cute.compile`, with a stand-in for each TensorSpec among these."""
    return [spec.fake() if isinstance(spec, TensorSpec) else spec for spec in specs]


def array_constraint(dtype: str, shape: Sequence[int], strides: Sequence[int], align: int = 1) -> Any:
    """What cuTile's compiler is told of a tensor: its indices are int32, which strides are 1, and common divisors.

    dtype: torch's name. align: bytes that divide the address; of sizes and strides it is told whether they do, too.
    """
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint

    kind = getattr(ct, dtype, None) or getattr(ct, f"{dtype}_")
    vector = max(align * 8 // kind.bitwidth, 1)
    divisors = [tuple(vector if n % vector == 0 else 1 for n in numbers) for numbers in (strides, shape)]
    return ArrayConstraint(
        kind,
        len(shape),
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=tuple(1 if stride == 1 else None for stride in strides),
        stride_divisible_by=divisors[0],
        shape_divisible_by=divisors[1],
        base_addr_divisible_by=align,
    )
