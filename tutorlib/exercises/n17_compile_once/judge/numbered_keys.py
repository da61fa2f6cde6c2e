"""Keys of a cache, told apart by numbers: a key itself may hold objects that cannot leave the answer's process."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from tutorlib.checking.exercise import Answer, WrongKind
from tutorlib.checking.library_use import Elsewhere


@dataclass
class Numbered:
    """cache_key, whose keys are told by numbers: equal ones have the same. With each goes the key as text.

    So they are numbered in another process, too, where keys may hold what cannot cross.
    """

    answer: Answer
    kept: dict[Hashable, int] = field(default_factory=dict)

    def __call__(self, *call: Any) -> tuple[int, str]:
        """Raises WrongKind where the key cannot be the key of a dictionary."""
        if isinstance(self.answer, Elsewhere):
            number, shown = self.answer.ask("numbered", *call)
            return number, str(shown)
        key = self.answer(*call)
        try:
            return self.kept.setdefault(key, len(self.kept)), repr(key)
        except TypeError as error:
            why = f"{key!r} cannot be the key of a dictionary: {error}.\n  Tuples can, lists cannot."
            raise WrongKind(why) from None
