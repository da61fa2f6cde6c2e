"""The tensors that the Hopper GEMM takes, and its messages about others."""

from typing import TYPE_CHECKING, Any, NamedTuple

from tutorlib.kernels.hopper.choose import TMA_BYTES, shape_problem
from tutorlib.kernels.hopper.config import BYTES, Major, Majors

if TYPE_CHECKING:
    import torch

FP8 = "torch.float8_e4m3fn"
NAMES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", FP8: "e4m3"}


class Kind(NamedTuple):
    """A matrix without its address and its elements: the key by which a launch is chosen."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: "torch.dtype"
    device: "torch.device"
    needs_gradient: bool


def kind_of(name: str, matrix: Any) -> Kind:
    """Raises TypeError where it is no torch tensor."""
    try:
        return Kind(matrix.shape, matrix.stride(), matrix.dtype, matrix.device, matrix.requires_grad)
    except AttributeError:
        raise TypeError(f"{name} is a {type(matrix).__name__}: gemm takes torch tensors") from None


def name_of_dtype(dtype: "torch.dtype") -> str:
    """As HopperConfig has it. Raises KeyError."""
    return NAMES[str(dtype)]


def problem_of(a: Kind, b: Kind, c: Kind) -> str | None:
    """Why gemm cannot take matrices of these kinds, and what to do, in one line; None if it can."""
    for name, matrix in (("a", a), ("b", b)):
        if str(matrix.dtype) not in NAMES:
            return f"{name} is {matrix.dtype}: gemm multiplies bf16, fp16 or float8_e4m3fn"
    if a.dtype != b.dtype:
        return f"a is {a.dtype} and b is {b.dtype}: both must have one dtype"
    dtype = name_of_dtype(a.dtype)
    result = "torch.bfloat16" if dtype == "e4m3" else str(a.dtype)
    if str(c.dtype) != result:
        return f"c is {c.dtype}: the product of two {a.dtype} is rounded to {result}"
    for name, matrix in (("a", a), ("b", b), ("c", c)):
        if len(matrix.shape) != 2:
            return f"{name} has the shape {tuple(matrix.shape)}: gemm takes matrices; for a batch, call it for each"
        if matrix.needs_gradient:
            return f"{name} requires a gradient, and gemm has no backward: pass {name}.detach()"
    (m, k), (n, k_of_b) = a.shape, b.shape
    if k != k_of_b:
        hint = "; b seems to be (K, N): pass b.mT" if b.shape[0] == k else ""
        return f"a is (M, K) = ({m}, {k}) and b is (N, K) = ({n}, {k_of_b}): their K differ{hint}"
    if tuple(c.shape) != (m, n):
        return f"c is {tuple(c.shape)}, and (M, N) is ({m}, {n})"
    for name, matrix in (("a", a), ("b", b), ("c", c)):
        if problem := layout_problem(name, matrix):
            return problem
    if min(m, n, k) > 0 and (problem := shape_problem(m, n, k, dtype, majors_of(a, b))):
        return problem
    for name, matrix in (("a", a), ("b", b), ("c", c)):
        if matrix.device.type != "cuda":
            return f"{name} is on {matrix.device}: TMA and wgmma are a Hopper GPU's; pass {name}.cuda()"
        if matrix.device != a.device:
            return f"a is on {a.device} and {name} on {matrix.device}: all must be on one GPU"
    return None


def rows_follow(matrix: Kind) -> bool:
    """Whether rows are contiguous and follow one another; strides of extents 0 and 1 say nothing."""
    (rows, columns), (row_stride, column_stride) = matrix.shape, matrix.strides
    return ((columns < 2 or column_stride == 1) and (rows < 2 or row_stride == columns)) or rows * columns == 0


def transposed(matrix: Kind) -> Kind:
    return matrix._replace(shape=matrix.shape[::-1], strides=matrix.strides[::-1])


def majors_of(a: Kind, b: Kind) -> Majors:
    """Of matrices without a layout problem."""
    return major_of(a), major_of(b)


def major_of(matrix: Kind) -> Major:
    """The contiguous mode. In a single column both are: then TMA decides."""
    dtype, (rows, columns) = name_of_dtype(matrix.dtype), matrix.shape
    if dtype == "e4m3" or matrix.strides != (1, rows):
        return "k"
    unit = TMA_BYTES // BYTES[dtype]
    return "mn" if not rows_follow(matrix) or (columns % unit and rows % unit == 0) else "k"


def layout_problem(name: str, matrix: Kind) -> str | None:
    """A sentence about a matrix of which neither the rows nor, in A and B, the columns are contiguous."""
    either_way = name != "c" and str(matrix.dtype) != FP8
    if rows_follow(matrix) or (either_way and rows_follow(transposed(matrix))):
        return None
    (_, columns), (row_stride, column_stride) = matrix.shape, matrix.strides
    if rows_follow(transposed(matrix)) and name != "c":
        what = "is transposed: wgmma multiplies 8-bit elements only along rows that are contiguous"
    elif row_stride == 1 and name == "c":
        what = "is transposed: its columns are contiguous, and the kernel stores rows"
    elif column_stride == 1:
        what = f"is a part of a wider matrix: its rows are {row_stride} elements apart, not {columns}"
    else:
        what = f"has the strides ({row_stride}, {column_stride}): its elements do not follow one another"
    way = "pass a matrix of its own" if name == "c" else f"pass {name}.contiguous()"
    return f"{name} {what}; {way}"


def address_problem(name: str, address: int) -> str | None:
    """TMA reads and writes whole units of 16 bytes."""
    if address % TMA_BYTES:
        return f"{name} begins {address % TMA_BYTES} bytes after a multiple of {TMA_BYTES}: pass {name}.clone()"
    return None
