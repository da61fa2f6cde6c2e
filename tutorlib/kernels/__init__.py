"""The kernels that notebooks show and grow. Their configurations are refused with a sentence for each broken rule."""

from operator import index
from typing import Any


class ConfigError(ValueError):
    """A configuration that cannot be compiled. The message is the rule that it breaks."""


def whole_numbers(name: str, given: Any, count: int, least: int | None = None) -> tuple[int, ...]:
    """A setting as a tuple of int, from lists and NumPy's numbers, too. Raises ConfigError unless all are ≥ least."""
    numbers = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(numbers) == count and not any(isinstance(n, bool) or not hasattr(n, "__index__") for n in numbers):
        numbers = tuple(map(index, numbers))
        if least is None or min(numbers) >= least:
            return numbers
    kind = "a whole number" if count == 1 else f"{count} whole numbers"
    raise ConfigError(f"{name} = {given!r}: it is {kind}{'' if least is None else f', {least} or more'}")
