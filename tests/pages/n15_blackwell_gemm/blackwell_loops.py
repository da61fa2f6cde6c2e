"""What wrong loops of notebook 15's kernel are made of."""

from tests.pages.change import derive
from tests.pages.table import says
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles

WAIT_EMPTY = "cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)"
WAIT_FULL = "cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)"
WAIT_FREE = "cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)"
WAIT_READY = "cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)"
FREE = """            if part == steps.parts - 1:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
"""
ANNOUNCE = """            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
"""


class Several(tuple):
    """An answer of several functions, with a name, and what is wrong or unusual with it."""


def several(name, what, *words, functions):
    made = Several(functions)
    made.__name__, made.__doc__, made.says = name, what, words
    return made


def loops(name, what, *words, produce=produce_tiles, multiply=multiply_tiles, store=store_tiles):
    return several(name, what, *words, functions=(produce, multiply, store))


def wrong(function, name, what, *changes_and_words, **where):
    """Changes first, then words of the message."""
    words = [part for part in changes_and_words if isinstance(part, str)]
    changes = [part for part in changes_and_words if not isinstance(part, str)]
    return says(*words)(derive(function, name, what, *changes, **where))
