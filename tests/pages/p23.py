"""Page 23: answers that are whole functions, and what rows of p23.txt are made of."""

import cutlass
from cutlass import cute

from tests.pages.change import copy_of
from tests.pages.table import base_of, solution, with_changes
from tutorlib.course.answers import load_answers
from tutorlib.kernels.attention import roles as course
from tutorlib.kernels.attention.roles import COURSE, step

PAGE = load_answers("23_attention_hopper")
own = copy_of(course)
softmax_step = PAGE["23.1"]


def whole(**slots):
    """An answer to 23.3 of own parts, with these in their places."""
    parts = {"softmax_step": softmax_step, "step": PAGE["23.2"]}
    return tuple((parts | {"consume": own.consume_blocks} | slots).values())
