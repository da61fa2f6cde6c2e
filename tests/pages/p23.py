"""Page 23: answers that are whole functions, and what rows of p23.txt are made of."""

import cutlass
from cutlass import cute

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, solution, with_changes
from tutorlib.course.answers import load_answers
from tutorlib.kernels.attention import roles as course
from tutorlib.kernels.attention.roles import COURSE, AttentionParts, add_pv, produce_blocks, step


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


def take_other_numbers(me):
    """Barriers 5 and 4."""
    cute.arch.barrier(barrier_id=5 - me.group, number_of_threads=256)


def give_other_numbers(me):
    """Barriers 4 and 5."""
    cute.arch.barrier_arrive(barrier_id=4 + me.group, number_of_threads=256)


@cute.jit
def jitted_take(me):
    """As a function of the DSL."""
    cute.arch.barrier(barrier_id=1 + me.group, number_of_threads=256)


@cute.jit
def jitted_give(me):
    """As a function of the DSL."""
    cute.arch.barrier_arrive(barrier_id=2 - me.group, number_of_threads=256)


other_turns = {"take_turn": take_other_numbers, "pass_turn": give_other_numbers}
PAGE = load_answers("23_attention_hopper")
own = copy_of(course)
by_row, p_operand, quad_reduce, softmax_step = own.by_row, own.p_operand, own.quad_reduce, own.softmax_step
take_turn, pass_turn = own.take_turn, own.pass_turn
softmax = base_of(quad_reduce, softmax_step)


def mine(**slots):
    """The page's answers, or equal ones, in all slots but these."""
    made = {
        **{"by_row": by_row, "p_operand": p_operand, "add_pv": own.add_pv, "quad_reduce": quad_reduce},
        **{"softmax_step": softmax_step, "produce": PAGE["23.4"], "step": PAGE["23.5"]},
        **{"take_turn": take_turn, "pass_turn": pass_turn, "consume": own.consume_blocks},
    }
    return AttentionParts(**made | slots)


def whole(**slots):
    """An answer to 23.7 of own parts, with these in their places."""
    made = mine(**slots)
    return lambda: made
