"""Answers that fill a slot of the persistent GEMM (`kernels.hopper.parts.Parts`), and the answer that fills them all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.cute import require_jit
from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.part import HostFunction, Part
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.problem import Shape

if TYPE_CHECKING:
    from tutorlib.kernels.hopper.config import HopperConfig
    from tutorlib.kernels.hopper.parts import Parts

SMS = 132  # of an H100 SXM and an H200
VECTOR = 8  # bf16 of 16 bytes
FEW_SMS = 2  # of the simulated GPU, so that a block has several tiles even of a small C
MOST_AREA = 256 * 208  # of a tile whose accumulators fit into registers
ACCUMULATORS, FLAGS = SMS * MOST_AREA, SMS * 8  # of all blocks, with at most 8 warps that multiply
Settings = Mapping[str, Any]  # for HopperConfig


def static_gemm(
    choose: Callable[[int, int, int], "tuple[HopperConfig, Parts]"], sms: int, shared: bool = False
) -> HostFunction:
    """The host function gemm(a, b, c) of the configuration and parts for its tensors' static sizes.

    shared: gemm(a, b, acc, flags, c), with scratch memory, which a configuration with stream_k needs.
    It raises ValueError while it is compiled where rows of A, B or C do not start at multiples of 16 bytes.
    """
    from cutlass import Int32, cute

    from tutorlib.kernels.hopper.gemm import Beside, launch_gemm

    def launch(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, *memory: cute.Tensor) -> None:
        (m, n), k = c.shape, a.shape[1]
        if k % VECTOR or n % VECTOR:
            raise ValueError(f"N = {n}, K = {k}: TMA's rows start at multiples of 16 bytes, {VECTOR} elements")
        config, parts = choose(m, n, k)
        if config.transposed:
            a, b, c = b, a, cute.make_tensor(c.iterator, cute.select(c.layout, [1, 0]))
        # A layout that knows of one box only would take a box beside C for that one: so it does not know.
        c = cute.make_tensor(c.iterator, cute.make_layout(tuple(map(Int32, c.shape)), stride=c.stride))
        acc, flags = memory if config.stream_k else (None, None)
        clusters = Int32(max(sms // config.cluster_size, 1))
        launch_gemm(a, b, c, Beside(None, None, acc, flags, None), clusters, config, parts)

    if shared:

        @cute.jit
        def gemm_with_scratch(
            a: cute.Tensor, b: cute.Tensor, acc: cute.Tensor, flags: cute.Tensor, c: cute.Tensor
        ) -> None:
            launch(a, b, c, acc, flags)

        return gemm_with_scratch

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        launch(a, b, c)

    return gemm


@dataclass(frozen=True, kw_only=True)
class Slot(Part):
    """names: of the slots that the answer fills, one function or a tuple of them; the others are the course's.

    settings: of the kernel that a GPU runs. small: of those that are simulated, by shape.
    """

    names: tuple[str, ...]
    settings: Settings = field(default_factory=dict)
    small: tuple[tuple[Shape, Settings], ...] = ()

    def host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        config, parts = HopperConfig(**self.settings), self.parts(answer)
        return static_gemm(lambda m, n, k: (config, parts), SMS, "give" in self.names)

    def simulated_host(self, answer: Answer) -> HostFunction:
        from tutorlib.kernels.hopper.config import HopperConfig

        small, parts = dict(self.small), self.parts(answer)
        return static_gemm(lambda m, n, k: (HopperConfig(**small[m, n, k]), parts), FEW_SMS, "give" in self.names)

    def parts(self, answer: Answer) -> "Parts":
        """Raises WrongKind."""
        from tutorlib.kernels.hopper.parts import COURSE

        filled = answer if isinstance(answer, tuple | list) else (answer,)
        if len(filled) != len(self.names):
            raise WrongKind(f"{answer!r} is not {len(self.names)} functions.")
        for function in filled:
            require_jit(function)
        return replace(COURSE, **dict(zip(self.names, filled, strict=True)))
