"""Advice for a compiler's refusals: one sentence for each kind that readers meet."""

from tutorlib.dsl.cute.refused_cute import CLEAR, CUTE, INLINED
from tutorlib.dsl.cutile.refused_cutile import CUTILE
from tutorlib.dsl.refusal import Refusal


def what_to_do(message: str, known: tuple[Refusal, ...] = (*CUTE, *CLEAR, *INLINED, *CUTILE)) -> str:
    """About a compiler's one line: what to do, in a sentence or two; "" where it is none that is known."""
    return next((advice for refusal in known if (advice := refusal.about(message))), "")
