"""The slots of the Hopper attention kernel, which notebook 20's reader fills."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tutorlib.kernels.attention import parts


@dataclass(frozen=True)
class AttentionParts:
    """Each is a function with the parameters of the course's."""

    by_row: Callable[..., Any]
    p_operand: Callable[..., Any]
    add_pv: Callable[..., None]
    quad_reduce: Callable[..., Any]
    softmax_step: Callable[..., None]
    produce: Callable[..., None]
    step: Callable[..., None]
    take_turn: Callable[..., None]
    pass_turn: Callable[..., None]


COURSE = AttentionParts(
    by_row=parts.by_row,
    p_operand=parts.p_operand,
    add_pv=parts.add_pv,
    quad_reduce=parts.quad_reduce,
    softmax_step=parts.softmax_step,
    produce=parts.produce_blocks,
    step=parts.step,
    take_turn=parts.take_turn,
    pass_turn=parts.pass_turn,
)
