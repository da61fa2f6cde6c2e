"""CSV tables: reads those of Moodle, Canvas and spreadsheets, and writes what no spreadsheet takes for a formula."""

import codecs
import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 2**24  # bytes; a roster of 10,000 students has 2**20
DELIMITERS = ",;\t"
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class BadTable(Exception):
    """A file that the instructor gave cannot be used. One line: the file, the line in it, and what to do."""


def escaped(text: str) -> str:
    """The text with an apostrophe in front, unless it begins with a letter, a digit or an apostrophe.

    A spreadsheet takes text for a formula by its first character: =, +, -, @, a tab, in some of them also their
    full-width forms or the same after spaces. Letters and digits begin none.
    """
    first = unicodedata.normalize("NFKC", text).lstrip(" ")[:1]
    return text if not first or first.isalnum() or first == "'" else f"'{text}"


def unescaped(text: str) -> str:
    return text[1:] if text.startswith("'") and escaped(text[1:]) == text else text


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """A table as CSV, in which no text is a formula to a spreadsheet, also to one that splits lines at semicolons."""
    import pandas as pd

    safe = [{key: plain(value) for key, value in row.items()} for row in rows]
    return pd.DataFrame(safe, dtype=object).to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def plain(value: Any) -> Any:
    """Text escaped, whole numbers without a point. Adding penalties leaves digits behind that are no points."""
    if isinstance(value, str):
        return escaped(value)
    return int(value) if isinstance(value, float) and (value := round(value, 6)).is_integer() else value


@dataclass(frozen=True)
class TableRow:
    """One row of a table. place: its file and line, for messages. fields: by column, names in lower case."""

    place: str
    fields: dict[str, str]

    def __getitem__(self, column: str) -> str:
        """The field without spaces around it, or the apostrophe that keeps a spreadsheet from calculating; or ""."""
        return unescaped(self.fields.get(column, "").strip())

    def first(self, *columns: str) -> str:
        """The first of these fields that is not empty, or ""."""
        return next((found for column in columns if (found := self[column])), "")


def read_text(path: Path) -> str:
    """A text file in UTF-8, UTF-16 (Excel's Unicode text) or Windows-1252. Raises BadTable."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BadTable(f"{path}: cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST:
        raise BadTable(f"{path}: larger than {LARGEST // 2**20} MB; is it the right file?")
    encodings = [name for bom, name in BOMS.items() if content.startswith(bom)] or ["utf-8", "cp1252"]
    for encoding in ["utf-16-le"] if content[1:2] == b"\0" else encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise BadTable(f"{path}: no text that can be read; save it as CSV in UTF-8.")


def rows_of(text: str, file: str) -> tuple[list[str], list[TableRow]]:
    """The columns of a CSV text, in lower case, and its rows that are not empty. Raises BadTable.

    The delimiter is the one that splits the header into most columns.
    """
    skipped = 0
    if text[:4].lower() == "sep=":  # Excel's own first line
        skipped, text = 1, text.partition("\n")[2]
    try:
        delimiter = max(DELIMITERS, key=lambda one: len(next(csv.reader(io.StringIO(text), delimiter=one), [])))
        lines = list(numbered(text, delimiter))
    except csv.Error as error:
        raise BadTable(f"{file}: not a CSV file: {error}.") from None
    if not lines:
        raise BadTable(f"{file}: empty; its first line should name the columns.")
    (_, head), *body = lines
    columns = [name.strip().casefold() for name in head]
    if repeated := sorted({name for name in columns if name and columns.count(name) > 1}):
        raise BadTable(f"{file}: two columns are called {repeated[0]}.")
    rows = []
    for number, fields in body:
        place = f"{file}, line {number + skipped}"
        if any(field.strip() for field in fields[len(columns) :]):
            more = f"{len(fields)} fields, and the header has {len(columns)}"
            raise BadTable(f"{place}: {more}; put a field that contains {delimiter!r} in quotation marks.")
        rows.append(TableRow(place, dict(zip(columns, fields, strict=False))))
    return columns, rows


def numbered(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, with the line where each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    start = 1
    for fields in reader:
        if any(field.strip() for field in fields):
            yield start, fields
        start = reader.line_num + 1
