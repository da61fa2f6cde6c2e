"""Instructions that compute each lane's result from its own operands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tutorlib.simulate.ptx.errors import NotSimulated
from tutorlib.simulate.ptx.ir import Instruction, Operand, ResultPair
from tutorlib.simulate.ptx.state import State, Step, Where
from tutorlib.simulate.ptx.types import is_type

Decoder = Callable[[Instruction, int, State], Step]  # of an instruction and its number: bound to the batch's arrays
Compute = Callable[..., Any]


def kind_of(instruction: Instruction) -> str:
    """The type at the end of the opcode: "s32"."""
    kind = instruction.parts[-1]
    if not is_type(kind):
        raise NotSimulated(str(instruction), instruction.line)
    return kind


def ufunc_step(ufunc: np.ufunc, out: np.ndarray, *sources: np.ndarray) -> Step:
    def step(where: Where) -> None:
        ufunc(*sources, out=out, where=where)

    return step


def computed(out: np.ndarray, compute: Compute, *sources: np.ndarray) -> Step:
    def step(where: Where) -> None:
        np.copyto(out, compute(*sources), where=where, casting="unsafe")

    return step


def sources(instruction: Instruction, state: State, kind: str, operands: tuple[Operand, ...]) -> list[np.ndarray]:
    return [state.source(operand, kind, instruction) for operand in operands]


def target_pair(instruction: Instruction, kind: str, state: State) -> tuple[np.ndarray, np.ndarray | None]:
    """The destination of a result, and of the predicate that may come with it: `d` or `d|p`."""
    to = instruction.operands[0]
    if isinstance(to, ResultPair):
        return state.target(to.first, kind, instruction), state.target(to.second, "pred", instruction)
    return state.target(to, kind, instruction), None
