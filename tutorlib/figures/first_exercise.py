"""README's first picture: an exercise, an answer that is almost right, and the message of its check."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUESTION = "Exercise 00.1. Write ceil_div(n, tile): how many tiles of `tile` elements cover n elements."
ANSWER = "def ceil_div(n, tile):\n    return n // tile + 1"
LINE = 0.3  # inches
PAPER, CODE, FAILED = "#ffffff", "#f3f3f3", "#fddddd"


def first_exercise() -> "Figure":
    """The question, the answer, its check and the message, which is computed now."""
    from matplotlib.figure import Figure

    from tutorlib.exercises import find

    answer: dict[str, Any] = {}
    exec(ANSWER, answer)
    message = find("00.1").grade(answer["ceil_div"]).message
    blocks = ((QUESTION, PAPER), (ANSWER, CODE), ('check("00.1", ceil_div)', CODE), (message, FAILED))
    heights = [(text.count("\n") + 1.6) * LINE for text, _ in blocks]
    drawn = Figure(figsize=(10.5, sum(heights) + 0.1 * len(blocks)))
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(sum(heights) + 0.1 * len(blocks), 0))
    top = 0.0
    for (text, color), height in zip(blocks, heights, strict=True):
        axes.axhspan(top, top + height, color=color)
        font = "monospace" if color != PAPER else "sans-serif"
        axes.text(0.015, top + height / 2, text, family=font, fontsize=13, va="center", linespacing=1.6)
        top += height + 0.1
    return drawn
