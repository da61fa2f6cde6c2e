"""A row of the table of opcodes, for instructions that compute each lane's result from its own operands alone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction
from tutorlib.simulate.ptx.opcodes.elementwise import Step, computed, kind_of, sources, ufunc_step
from tutorlib.simulate.ptx.state import State
from tutorlib.simulate.ptx.types import bits_of, is_type, numpy_type


@dataclass(frozen=True)
class Row:
    """What an opcode does to arrays of all lanes' operands.

    types: of the result and of each operand: "t" is the opcode's own, "w" one of twice its width, "d" the one named
        before it, as in set.eq.f32.s32.
    does: the operands → the result, which is then converted to its type.
    asks: suffixes that `does` is told of, each by its name: whether the opcode has it. knows: others that it may have.
    """

    types: str
    does: Callable[..., Any]
    asks: str = ""
    knows: str = ""

    def __call__(self, instruction: Instruction, site: int, state: State) -> Step:
        """Raises NotSimulated for other suffixes, or another number of operands."""
        kinds, asks = self.types.split(), self.asks.split()
        suffixes = {part for part in instruction.parts[1:] if not is_type(part)}
        if suffixes - {*asks, *self.knows.split()} or len(instruction.operands) != len(kinds):
            raise NotSimulated(str(instruction), instruction.line)
        own = kind_of(instruction)
        named = {"t": own, "w": f"{own[0]}{2 * bits_of(own)}", "d": instruction.parts[-2]}
        to, *of = (named.get(kind, kind) for kind in kinds)
        out = state.target(instruction.operands[0], to, instruction)
        given = [
            source
            for operand, kind in zip(instruction.operands[1:], of, strict=True)
            for source in sources(instruction, state, kind, (operand,))
        ]
        if isinstance(self.does, np.ufunc) and out.dtype == given[0].dtype == numpy_type(to):
            return ufunc_step(self.does, out, *given)
        return computed(out, partial(self.does, **{name: name in suffixes for name in asks}), *given)
