"""gemm(a, b, c) on torch tensors: which it can take, and the launch in the configuration chosen for them."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch

from tutorlib.kernels.hopper import tune
from tutorlib.kernels.hopper.choose import TMA_BYTES, choose, shape_problem
from tutorlib.kernels.hopper.config import BYTES, Major, Majors
from tutorlib.kernels.hopper.launch import launcher, max_clusters

NAMES = {dtype: name for name, dtype in tune.DTYPES.items()}
HOPPER = (9, 0)  # its compute capability


class Kind(NamedTuple):
    """A matrix without its address and its elements: the key by which a launch is chosen."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    needs_gradient: bool


def kind_of(name: str, matrix: Any) -> Kind:
    """Raises TypeError where it is no torch tensor."""
    try:
        return Kind(matrix.shape, matrix.stride(), matrix.dtype, matrix.device, matrix.requires_grad)
    except AttributeError:
        raise TypeError(f"{name} is a {type(matrix).__name__}: gemm takes torch tensors") from None


def rounded_to(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the product of two matrices of this one."""
    return torch.bfloat16 if dtype == torch.float8_e4m3fn else dtype


def problem_of(a: Kind, b: Kind, c: Kind) -> str | None:
    """Why gemm cannot take matrices of these kinds, and what to do, in one line; None if it can."""
    for name, matrix in (("a", a), ("b", b)):
        if matrix.dtype not in NAMES:
            return f"{name} is {matrix.dtype}: gemm multiplies bf16, fp16 or float8_e4m3fn"
    if a.dtype != b.dtype:
        return f"a is {a.dtype} and b is {b.dtype}: both must have one dtype"
    if c.dtype != rounded_to(a.dtype):
        return f"c is {c.dtype}: the product of two {a.dtype} is rounded to {rounded_to(a.dtype)}"
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
    if min(m, n, k) > 0 and (problem := shape_problem(m, n, k, NAMES[a.dtype], majors_of(a, b))):
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
    dtype, (rows, columns) = NAMES[matrix.dtype], matrix.shape
    if dtype == "e4m3" or matrix.strides != (1, rows):
        return "k"
    unit = TMA_BYTES // BYTES[dtype]
    return "mn" if not rows_follow(matrix) or (columns % unit and rows % unit == 0) else "k"


def layout_problem(name: str, matrix: Kind) -> str | None:
    """A sentence about a matrix of which neither the rows nor, in A and B, the columns are contiguous."""
    either_way = name != "c" and matrix.dtype != torch.float8_e4m3fn
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


# Launches -------------------------------------------------------------------------------------------------------------


@cache
def chosen_launch(a: Kind, b: Kind, c: Kind, stream: int, tuned: bool = False) -> Callable[..., None]:
    """launch(a, b, c) of matrices like these on a stream, in the configuration chosen for them. Raises ValueError."""
    if problem := problem_of(a, b, c):
        raise ValueError(problem)
    if a.device.index != torch.cuda.current_device():
        raise ValueError(f"a is on {a.device}, which is not the current device: call torch.cuda.set_device first")
    if (capability := torch.cuda.get_device_capability()) != HOPPER:
        name, arch = torch.cuda.get_device_name(), "".join(map(str, capability))
        raise ValueError(f"{name} is sm_{arch}: this kernel is made of Hopper's instructions, sm_90a's alone")
    (m, k), n = a.shape, b.shape[0]
    if min(m, n, k) == 0:
        return lambda a, b, c: c.zero_()
    kind = NAMES[a.dtype], majors_of(a, b)
    if tuned:
        return tune.launch(tune.Problem(m, n, k, *kind))
    return launcher(choose(m, n, k, max_clusters(1), *kind), m, n, k)


def gemm(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None, tuned: bool = False) -> torch.Tensor:
    """C (M, N) = A (M, K) · Bᵀ with B (N, K) on a Hopper GPU; fp32 accumulators, rounded once.

    a, b: bf16, fp16 or e4m3, of one dtype, with contiguous rows; but for e4m3 also transposed views, w.mT.
    c: of the same dtype, for e4m3 bf16, with contiguous rows; made where it is None.
    tuned: a shape's first call on this machine times the model's best dozen, in a second or two.
    Raises ValueError or TypeError, with what to do, for tensors that TMA cannot take.
    """
    kind_a, kind_b = kind_of("a", a), kind_of("b", b)
    if c is None:
        c = torch.empty(a.shape[0], b.shape[0], dtype=rounded_to(a.dtype), device=a.device)
    launch = chosen_launch(kind_a, kind_b, kind_of("c", c), current_stream(a), tuned)
    for name, matrix in (("a", a), ("b", b), ("c", c)):
        if problem := address_problem(name, matrix.data_ptr()):
            raise ValueError(problem)
    launch(a, b, c)
    return c


def current_stream(matrix: torch.Tensor) -> int:
    """torch's stream on the matrix's GPU; 0 where it is on none."""
    return torch.cuda.current_stream(matrix.device).cuda_stream if matrix.is_cuda else 0
