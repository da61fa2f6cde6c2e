"""The kernels that notebooks show and grow. Their configurations are refused with a sentence for each broken rule."""

from typing import Any


class ConfigError(ValueError):
    """A configuration that cannot be compiled. The message is the rule that it breaks."""


def whole_numbers(name: str, given: Any, count: int, least: int | None = None) -> tuple[Any, ...]:
    """A setting as a tuple, JSON's list as well. Raises ConfigError unless it is this many whole numbers ≥ least."""
    numbers = tuple(given) if isinstance(given, list | tuple) else (given,)
    if len(numbers) != count or any(type(n) is not int or (least is not None and n < least) for n in numbers):
        what = "a whole number" if count == 1 else f"{count} whole numbers"
        raise ConfigError(f"{name} = {given!r}: it is {what}{'' if least is None else f', {least} or more'}")
    return numbers
