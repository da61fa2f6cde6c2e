"""Keys of a cache, told apart by numbers: a key itself may hold objects that cannot leave the answer's process."""

from collections.abc import Hashable
from typing import Any

from tutorlib.checking.exercise import WrongKind
from tutorlib.checking.served import Served


def numbered_key(served: Served, *call: Any) -> tuple[int, str]:
    """The key by a number, which equal keys share, and as text. Raises WrongKind where no dictionary takes it."""
    numbers: dict[Hashable, int] = served.kept.setdefault("keys", {})
    key = served(*call)
    try:
        return numbers.setdefault(key, len(numbers)), repr(key)
    except TypeError as error:
        why = f"{key!r} cannot be the key of a dictionary: {error}.\n  Tuples can, lists cannot."
        raise WrongKind(why) from None
