"""CSV tables: reads those of Moodle, Canvas and spreadsheets, and writes what no spreadsheet takes for a formula."""

import codecs
import csv
import io
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutorlib.classroom import CannotGrade

DELIMITERS = ",;\t"


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
    """A text file in UTF-8, UTF-16 (Excel's Unicode text) or Windows-1252. Raises CannotGrade."""
    try:
        content = path.read_bytes()
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return content.decode("utf-16")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return content.decode("cp1252")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotGrade(f"{path.name}: cannot be read: {error}; save it as CSV in UTF-8.") from None


def read_csv(path: Path) -> tuple[list[str], list[TableRow]]:
    """The columns of a CSV file, in lower case, and its rows that are not empty. Raises CannotGrade.

    The delimiter is the one that the header has most of.
    """
    text = read_text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip().casefold() for name in next(reader, [])]
        rows = []
        for fields in reader:
            place = f"{path.name}, line {reader.line_num}"
            if any(field.strip() for field in fields[len(columns) :]):
                more = f"{len(fields)} fields, and the header has {len(columns)}"
                raise CannotGrade(f"{place}: {more}; put a field that contains {delimiter!r} in quotation marks.")
            if any(field.strip() for field in fields):
                rows.append(TableRow(place, dict(zip(columns, fields, strict=False))))
    except csv.Error as error:
        raise CannotGrade(f"{path.name}: not a CSV file: {error}.") from None
    return columns, rows
