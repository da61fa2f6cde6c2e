"""What to do about a compiler's refusal: one sentence for each kind that readers meet."""

from tutorlib.compiling.refusal import Refusal
from tutorlib.compiling.refused_cute import CUTE, INLINED
from tutorlib.compiling.refused_cutile import CUTILE


def what_to_do(message: str, known: tuple[Refusal, ...] = (*CUTE, *INLINED, *CUTILE)) -> str:
    """About a compiler's one line: what to do, in a sentence or two; "" where it is none that is known."""
    return next((advice for refusal in known if (advice := refusal.about(message))), "")
