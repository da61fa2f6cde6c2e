"""What the process of an answer needs of page 08's exercises."""

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.programs import serialized
from tutorlib.failure import Fail, Flaw
from tutorlib.problems.catalogue import accumulation, gemm
from tutorlib.problems.problem import Operand, Problem, Shape

if TYPE_CHECKING:
    from torch import Tensor

# Whether the accumulators of a kernel fit into a thread's registers: the compilers' reports tell.


def beyond_registers(compiled: Compiled) -> str:
    """That compiled code spills, issues one wgmma at a time, or stores by TMA, as the end of a sentence; or ""."""
    if compiled.stack_bytes:
        return Flaw(f"each thread keeps {compiled.stack_bytes:,} bytes of its accumulators on the stack.", Fail.SPILLS)
    if reason := serialized(compiled.ptx):
        what = f"each wgmma waits for the one before it. ptxas gives the reason: {reason}."
        return Flaw(what, Fail.NO_OVERLAP)
    if re.search(r"cp\.async\.bulk\.tensor\S*\.global\.shared", compiled.ptx):
        what = "a store goes by TMA: it takes shared memory for a whole tile from the loop's stages."
        return Flaw(what, Fail.USES(instruction="TMA"))
    return ""


# A GEMM's partial products: the results of blocks that share K, before they are added.


@dataclass(frozen=True)
class PartialProducts(Problem):
    """parts (S, M, N) in fp32: part s is A·Bᵀ over the s-th of S runs of steps along K, each ⌈steps / S⌉ long.

    step: its extent along K. Later runs may be shorter, or empty: their part is 0.
    """

    step: int = 1

    def expected(self, inputs: "tuple[Tensor, ...]", shape: Shape) -> "tuple[Tensor, Tensor]":
        import torch

        parts, depth = shape[0], shape[-1]
        steps = math.ceil(depth / self.step)
        run = math.ceil(steps / parts) * self.step
        cut = [tuple(x.double()[:, part * run : part * run + run] for x in inputs) for part in range(parts)]
        results = [a @ b.mT for a, b in cut]
        allowed = [
            accumulation(result, pair, "fp32") if pair[0].shape[1] else result
            for result, pair in zip(results, cut, strict=True)
        ]
        return torch.stack(results), torch.stack(allowed)


def parts_of_gemm(step: int) -> PartialProducts:
    plain = gemm("bf16")
    return PartialProducts(
        **vars(replace(plain, name="partial products", dims="SMNK", output=Operand("parts", "SMN", "fp32"))), step=step
    )
