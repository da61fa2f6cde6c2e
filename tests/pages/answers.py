"""All answers that the rooms of the pages list by exercise: those of their wrong*.py and right*.py."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

Answers = dict[str, tuple[Callable, ...]]


def modules(kind: str) -> Iterator[ModuleType]:
    for file in sorted(Path(__file__).parent.glob(f"n[0-9][0-9]_*/{kind}*.py")):
        yield import_module(f"{__package__}.{file.parent.name}.{file.stem}")


def listed(kind: str, name: str) -> Answers:
    return {id: answers for module in modules(kind) for id, answers in getattr(module, name, {}).items()}


WRONG = listed("wrong", "WRONG")
WHEN_RUN = listed("wrong", "WRONG_WHEN_RUN")
RIGHT = listed("right", "RIGHT")
