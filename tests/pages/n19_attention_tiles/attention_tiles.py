"""What the wrong and the unusual right answers to notebook 19 share."""

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers

PAGE = "19_attention_tiles"
RIGHT = right_answers(PAGE)


def step(name, says, *changes):
    """19.1 with a change to online_step."""
    return derive(RIGHT["19.1"], name, says, *changes, within="online_step")


def changed(id):
    """Takes a name, what is wrong with it and pairs (old, new) or triples with the number of places."""
    return lambda name, says, *pairs: derive(RIGHT[id], name, says, *(swap(*pair) for pair in pairs))
