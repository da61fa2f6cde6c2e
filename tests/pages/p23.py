"""Page 23: answers that are whole functions, and what rows of p23.txt are made of."""

import cutlass
from cutlass import cute

from tests.pages.change import copy_of
from tests.pages.table import base_of, solution, with_changes
from tutorlib.course.answers import load_answers
from tutorlib.kernels.attention import roles as course
from tutorlib.kernels.attention.roles import COURSE, step


def by_modes(acc):
    """From the accumulators' own modes."""
    neighbors, rows, columns = acc.shape[0]
    return cute.make_tensor(acc.iterator, cute.make_layout((rows, (neighbors, columns)), stride=(2, (1, 4))))


def blocks_by_modes(p):
    """The same for the operand."""
    return cute.make_tensor(
        p.iterator, cute.make_layout(((2, 2, 2), 1, p.shape[0][2] // 2), stride=((1, 2, 4), cute.size(p), 8))
    )


@cute.jit
def jitted_rows(acc):
    """As a function of the DSL."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def composed_rows(acc):
    """A layout after the accumulators' own."""
    return cute.composition(acc, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


PAGE = load_answers("23_attention_hopper")
own = copy_of(course)
by_row, p_operand, softmax_step = own.by_row, own.p_operand, PAGE["23.2"]


def whole(**slots):
    """An answer to 23.4 of own parts, with these in their places."""
    parts = {"by_row": by_row, "p_operand": p_operand, "softmax_step": softmax_step, "step": PAGE["23.3"]}
    return tuple((parts | {"consume": own.consume_blocks} | slots).values())
