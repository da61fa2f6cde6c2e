"""A row of the table of opcodes, for instructions that compute each lane's result from its own operands alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.operation import Operation
from tutorlib.simulate.ptx.state import Step, Where
from tutorlib.simulate.ptx.types import bits_of, numpy_type

Compute = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """What an opcode does to arrays of all lanes' operands.

    types: of the result and of each operand: "t" is the opcode's own, "w" one of twice its width.
    does: the operands → the result, which is then converted to its type.
    asks: suffixes that `does` is told of, each by its name: whether the opcode has it. knows: others that it may have.
    """

    types: str
    does: Compute
    asks: str = ""
    knows: str = ""

    def __call__(self, op: Operation) -> Step:
        """Raises NotSimulated for other suffixes, another number of operands, or registers of two numbers."""
        kinds, asks, own = self.types.split(), self.asks.split(), op.kind
        op.need_known(f"{self.asks} {self.knows}")
        op.need(len(op.operands) == len(kinds) and not own.endswith("x2"))
        named = {"t": own, "w": f"{own[0]}{2 * bits_of(own)}"}
        to, *of = (named.get(kind, kind) for kind in kinds)
        out = op.target(0, to)
        given = [op.source(n, kind) for n, kind in enumerate(of, 1)]
        if isinstance(self.does, np.ufunc) and out.dtype == given[0].dtype == numpy_type(to):
            return ufunc_step(self.does, out, *given)
        return computed(out, partial(self.does, **{name: name in op.parts for name in asks}), *given)


def ufunc_step(ufunc: np.ufunc, out: np.ndarray, *sources: np.ndarray) -> Step:
    def step(where: Where) -> None:
        ufunc(*sources, out=out, where=where)

    return step


def computed(out: np.ndarray, compute: Compute, *sources: np.ndarray) -> Step:
    def step(where: Where) -> None:
        np.copyto(out, compute(*sources), where=where, casting="unsafe")

    return step
