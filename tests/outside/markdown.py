"""Tables of a page."""

from collections.abc import Iterable, Iterator


def table(head: str, rows: Iterable[Iterable[object]]) -> Iterator[str]:
    columns = head.split("|")
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "|".join("---" for _ in columns) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""
