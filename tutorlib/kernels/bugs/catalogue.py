"""The broken kernels of notebook 21: source, launch and the contract that each breaks."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.kernels.cpp import tiles
from tutorlib.machine.features import MMA_SYNC, TMA, Feature
from tutorlib.problems.catalogue import UNIT_ROUNDOFF, accumulation, gemm, softmax
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

    from tutorlib.compiling.spec import DType

LaunchSize = Callable[[Shape], tuple[int, ...]]  # takes a shape, gives sizes along x, y and z


@dataclass(frozen=True)
class CudaLaunch:
    """A __global__ function that takes the problem's tensors, the output last, and then its sizes."""

    grid: LaunchSize
    block: LaunchSize


@dataclass(frozen=True)
class CuteLaunch:
    """A @cute.jit host function of this name.

    dynamic: whether its sizes are known at run time only. divisible: what then divides the contiguous mode's size.
    """

    host: str
    dynamic: bool = False
    divisible: int = 1


@dataclass(frozen=True)
class CutileLaunch:
    """A @ct.kernel of this name. constants: its arguments after the tensors."""

    kernel: str
    grid: LaunchSize
    constants: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A broken kernel.

    file: its source: a .cu file of this folder, or a section of kernels.py. problem: what it should compute.
    right_at: a shape at which its result is right, or () if there is none.
    wrong_at: the shape that the report is about, small enough to be simulated.
    fix_shapes: shapes at which a fixed kernel is tested; the broken one fails at one of them.
    refuses: takes a shape, returns the condition of the kernel's contract that it violates, or "".
    """

    file: str
    launch: CudaLaunch | CuteLaunch | CutileLaunch
    problem: Problem
    wrong_at: Shape
    fix_shapes: tuple[Shape, ...]
    right_at: Shape = ()
    refuses: Callable[[Shape], str] = lambda shape: ""
    needs: Feature = MMA_SYNC

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def source(self) -> str:
        folder = Path(__file__).parent
        if self.language == "cpp":
            return (folder / self.file).read_text(encoding="utf-8")
        _, *sections = (folder / "kernels.py").read_text(encoding="utf-8").split("\n# %% ")
        by_name = dict(section.split("\n", 1) for section in sections)
        return by_name[self.name].strip() + "\n"

    @property
    def language(self) -> str:
        """As a Markdown listing names it."""
        return "cpp" if isinstance(self.launch, CudaLaunch) else "python"


# What they should compute -----------------------------------------------------------------------------------------


X = Operand("x", "MN", "fp32")


def each_row(name: str, reference: Callable[..., "Tensor"], roundings: int = 4) -> Problem:
    """y (M, N) of x (M, N), both fp32, each row for itself: a sum or a maximum of the row, then `roundings` more."""

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: "DType") -> "Tensor":
        return (6 * math.sqrt(result.shape[-1]) + roundings) * UNIT_ROUNDOFF[out] * result.abs()

    return Problem(
        name=name, dims="MN", inputs=(X,), output=Operand("y", "MN", "fp32"), reference=reference, bound=bound
    )


def linear_layer() -> Problem:
    """y (M, N) = x (M, K) · wᵀ + bias, w (N, K), bias (N), all in bf16, accumulated in fp32."""

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: "DType") -> "Tensor":
        return accumulation(result, inputs[:2], out) + UNIT_ROUNDOFF["fp32"] * result.abs()

    plain = gemm("bf16")
    x, w = plain.inputs
    return replace(
        plain,
        name="linear",
        inputs=(replace(x, name="x"), replace(w, name="w"), Operand("bias", "N", "bf16")),
        output=replace(plain.output, name="y"),
        reference=lambda x, w, bias: x @ w.mT + bias,
        bound=bound,
    )


def sums_of(
    name: str, dims: str, inputs: tuple[Operand, ...], reference: Callable[..., "Tensor"], kept: str, output: str = "y"
) -> Problem:
    """Sums in fp32 of products, or of the only input's elements. kept: the output's mode; output: its name."""

    def bound(result: "Tensor", inputs: "tuple[Tensor, ...]", out: "DType") -> "Tensor":
        magnitudes = reference(*(x.abs() for x in inputs))
        terms = max(x.numel() for x in inputs) / result.numel()
        return UNIT_ROUNDOFF[out] * (result.abs() + 6 * math.sqrt(terms) * magnitudes)

    return Problem(
        name=name, dims=dims, inputs=inputs, output=Operand(output, kept, "fp32"), reference=reference, bound=bound
    )


def doubled(name: str) -> Problem:
    """y = 2 x, both (M, N) in fp32: exact."""
    return replace(each_row(name, lambda x: 2 * x), bound=None)


def multiples(**of: int) -> Callable[[Shape], str]:
    """Refuses shapes whose dims are no multiples: multiples(M=32, K=16) for MNK, in this order of `of`."""

    def refuse(shape: Shape) -> str:
        missed = [
            f"{dim} is a multiple of {step}" for (dim, step), n in zip(of.items(), shape, strict=True) if n % step
        ]
        return " and ".join(missed)

    return refuse


# The kernels ------------------------------------------------------------------------------------------------------

BUGS = {
    bug.name: bug
    for bug in (
        Bug(
            file="rms_norm.cu",
            launch=CudaLaunch(grid=lambda shape: (min(shape[0], 4),), block=lambda shape: (128,)),
            problem=each_row("rms_norm", lambda x: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()),
            right_at=(4, 512),
            wrong_at=(12, 200),
            fix_shapes=((12, 200), (5, 40), (4, 512)),
        ),
        Bug(
            file="sgemm.cu",
            launch=CudaLaunch(
                grid=lambda shape: (tiles(shape[1], 16), tiles(shape[0], 16)), block=lambda shape: (16, 16)
            ),
            problem=replace(gemm("fp32"), name="sgemm"),
            right_at=(40, 50, 64),
            wrong_at=(40, 50, 60),
            fix_shapes=((40, 50, 60), (17, 33, 7), (16, 16, 16)),
        ),
        Bug(
            file="linear.py",
            launch=CutileLaunch("linear", lambda shape: (tiles(shape[0], 32) * tiles(shape[1], 32),), (32, 2)),
            problem=linear_layer(),
            wrong_at=(40, 70, 48),
            fix_shapes=((70, 40, 48),),  # a group of two rows of tiles, and one of one
        ),
        Bug(
            file="scale_rows.py",
            launch=CuteLaunch("scale_rows", dynamic=True, divisible=4),
            problem=doubled("scale_rows"),
            wrong_at=(3, 260),
            fix_shapes=((3, 260), (2, 64)),
            refuses=multiples(M=1, N=4),
        ),
        Bug(
            file="stream.py",
            launch=CuteLaunch("stream"),
            problem=doubled("stream"),
            right_at=(16, 128),
            wrong_at=(80, 64),
            fix_shapes=((80, 64), (16, 128), (32, 64)),
            refuses=multiples(M=16, N=64),
            needs=TMA,
        ),
        Bug(
            file="column_sums.cu",
            launch=CudaLaunch(grid=lambda shape: (shape[1] // 128, 4), block=lambda shape: (128,)),
            problem=sums_of("column_sums", "MN", (X,), lambda x: x.sum(0), "N"),
            wrong_at=(70, 256),
            fix_shapes=((70, 256), (3, 128), (16, 384)),
            refuses=lambda shape: multiples(M=1, N=128)(shape) or ("N is 1,024 at most" if shape[1] > 1024 else ""),
        ),
        Bug(
            file="softmax.cu",
            launch=CudaLaunch(grid=lambda shape: shape[:1], block=lambda shape: (128,)),
            problem=softmax("fp32"),
            right_at=(4, 300),
            wrong_at=(4, 300),  # of large negative numbers
            fix_shapes=((4, 300), (3, 40), (2, 1)),
        ),
    )
}
