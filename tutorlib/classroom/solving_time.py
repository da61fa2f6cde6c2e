"""The time that students took to solve an exercise, by the attempts that checks recorded in their notebooks.

Anyone who edits the file can change it. No points and no student's page depend on it.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tutorlib.exercises import of_notebook
from tutorlib.notebook import attempts
from tutorlib.notebook.progress import Tried

PAUSE_S = 30 * 60


def times_in(content: bytes, notebook: str, now: float) -> tuple[tuple[str, float], ...]:
    """The exercises of a notebook that its file says were solved, and the seconds that each took.

    content: of the file, whatever it is. now: seconds since 1970; tries that have a later one among them are no tries.
    """
    left = {id: tries for id, tries in left_in(content) if tries and all(one.utc <= now for one in tries)}
    of_page = {exercise.id: left.get(exercise.id, []) for exercise in of_notebook(notebook)}
    return tuple(times_to_solve(of_page).items())


def times_to_solve(tries: Mapping[str, Sequence[Tried]]) -> dict[str, float]:
    """Exercise → seconds that it took to solve, from all tries at the exercises of one page.

    The stretch between a try and the last one before it, whichever exercise that was at, was spent on the later one's:
    on reading towards it, on writing or on mending it. A stretch of more than PAUSE_S is a pause, and cut out. The sum
    up to the first right try, and with it, is the time to solve. Where there is no stretch there is no time: what was
    right at the first try of its page, or at the first after a pause, has no known start.
    """
    spent: dict[str, float] = {}
    solved = set()
    before = -math.inf
    for one, id in sorted(((one, id) for id, of in tries.items() for one in of), key=lambda tried: tried[0].utc):
        stretch, before = one.utc - before, one.utc
        if id not in solved and stretch <= PAUSE_S:
            spent[id] = spent.get(id, 0.0) + stretch
        if one.right:
            solved.add(id)
    return {id: spent[id] for id in tries if id in solved and id in spent}


def left_in(content: bytes) -> Iterator[tuple[str, list[Tried]]]:
    """Exercise and tries, as each well-formed output of a check in a notebook's file has them."""
    try:
        notebook = json.loads(content.decode(json.detect_encoding(content), "replace"))
    except (ValueError, RecursionError):
        return
    for cell in items(notebook, "cells"):
        for output in items(cell, "outputs"):
            match output:
                case {"metadata": {attempts.KEY: {"exercise": str(exercise), "tries": text}}}:
                    yield exercise, attempts.tries_in(text)


def items(of: Any, key: str) -> list[Any]:
    """The list under this key, or an empty one."""
    found = of.get(key) if isinstance(of, dict) else None
    return found if isinstance(found, list) else []
