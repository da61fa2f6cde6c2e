"""The slots of the Hopper attention kernel, which notebook 20's reader fills."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tutorlib.kernels.attention import parts


@dataclass(frozen=True)
class AttentionParts:
    """Each is a function with the parameters of the one that fills the slot by default."""

    by_row: Callable[..., Any] = parts.by_row
    p_operand: Callable[..., Any] = parts.p_operand
    add_pv: Callable[..., None] = parts.add_pv
    quad_reduce: Callable[..., Any] = parts.quad_reduce
    softmax_step: Callable[..., None] = parts.softmax_step
    produce: Callable[..., None] = parts.produce_blocks
    step: Callable[..., None] = parts.step
    take_turn: Callable[..., None] = parts.take_turn
    pass_turn: Callable[..., None] = parts.pass_turn


COURSE = AttentionParts()
