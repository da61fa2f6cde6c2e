"""A broken kernel: its source, its launch, and the contract that it breaks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tutorlib.machine.features import MMA_SYNC, Feature
from tutorlib.problems.problem import Problem, Shape

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

    file: its source, in this folder. problem: what it should compute.
    right_at: a shape at which its result is right, or () if there is none.
    wrong_at: the shape that the report is about, small enough to be simulated.
    fix_shapes: shapes at which a fixed kernel is tested; the broken one fails at one of them.
    refuses: takes a shape, returns the condition of the kernel's contract that it violates, or "".
    lean: beginnings of shared-memory opcodes whose wavefronts must be minimal, if waste is the bug.
    """

    file: str
    launch: CudaLaunch | CuteLaunch | CutileLaunch
    problem: Problem
    wrong_at: Shape
    fix_shapes: tuple[Shape, ...]
    right_at: Shape = ()
    refuses: Callable[[Shape], str] = lambda shape: ""
    lean: tuple[str, ...] = ()
    needs: Feature = MMA_SYNC

    @property
    def name(self) -> str:
        return Path(self.file).stem

    @property
    def source(self) -> str:
        return (Path(__file__).parent / self.file).read_text(encoding="utf-8")

    @property
    def grid(self) -> LaunchSize:
        """For a kernel whose host function is not its own. Raises TypeError for another."""
        if isinstance(self.launch, CuteLaunch):
            raise TypeError(f"{self.name} launches itself")
        return self.launch.grid

    @property
    def language(self) -> str:
        """As a Markdown listing names it."""
        return "cpp" if isinstance(self.launch, CudaLaunch) else "python"
