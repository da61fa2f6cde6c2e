"""The kernels that notebooks show and grow. Their configurations are refused with a sentence for each broken rule."""

from operator import index
from typing import Any


class ConfigError(ValueError):
    """A configuration that cannot be compiled. The message is the rule that it breaks."""


def whole_numbers(name: str, says: str, given: Any, least: int | None = None) -> tuple[Any, ...]:
    """So many whole numbers, none below the least, as Python's own: NumPy's and a list are as good. Raises ConfigError.

    says: which they are, "(M, N, K)".
    """
    try:
        numbers = tuple(map(index, given))
    except TypeError:
        numbers = ()
    if len(numbers) != len(says.split(",")) or (least is not None and min(numbers) < least):
        raise ConfigError(f"{name} = {given!r}: {says} are {'positive ' if least == 1 else ''}whole numbers")
    return numbers


def whole_number(name: str, given: Any) -> int:
    """One of them."""
    try:
        return index(given)
    except TypeError:
        raise ConfigError(f"{name} = {given!r}: it is a whole number") from None
