"""All answers that the pages' tables and modules list, by exercise."""

from importlib import import_module
from pathlib import Path

from tests.pages.table import FUNCTIONS, Answer, read_rows

TEACHES: dict[str, str] = {}
WRONG: dict[str, list[Answer]] = {}
RIGHT: dict[str, list[Answer]] = {}


def load() -> None:
    for file in sorted(Path(__file__).parent.glob("p[0-9][0-9].txt")):
        taught, rows = read_rows(file, vars(import_module(f"{__package__}.{file.stem}")))
        TEACHES.update(taught)
        for answer in rows:
            (WRONG if answer.kinds else RIGHT).setdefault(answer.exercise, []).append(answer)
    for answer in FUNCTIONS:
        (WRONG if answer.kinds else RIGHT).setdefault(answer.exercise, []).append(answer)


def named(exercise: str, text: str) -> Answer:
    """The answer with this row, or whose function has this name."""
    (found,) = (one for one in (*WRONG[exercise], *RIGHT.get(exercise, ())) if one.text == text)
    return found


load()
