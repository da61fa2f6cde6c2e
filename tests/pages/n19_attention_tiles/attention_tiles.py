"""What the wrong and the unusual right answers to notebook 19 share."""

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers
from tests.pages.table import says

PAGE = "19_attention_tiles"
RIGHT = right_answers(PAGE)


def step(name, says, *changes):
    """19.1 with a change to online_step."""
    return derive(RIGHT["19.1"], name, says, *changes, within="online_step")


def by_block_0(id, name, number="m"):
    """Block 0 does the work of all. number: what the answer calls a block's number."""

    def looped(lines):
        at = lines.index(f"    {number} = ct.bid(0)")
        loop = f"    for {number} in range(ct.num_blocks(0) if ct.bid(0) == 0 else 0):"
        return [*lines[:at], loop, *(f"    {line}" for line in lines[at + 1 :])]

    return says("3 of 4 blocks store nothing")(derive(RIGHT[id], name, "One block does it all.", looped))


def changed(id):
    """Takes a name, what is wrong with it and pairs (old, new) or triples with the number of places."""
    return lambda name, says, *pairs: derive(RIGHT[id], name, says, *(swap(*pair) for pair in pairs))
