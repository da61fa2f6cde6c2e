"""Files of a class: reads the CSV tables of Moodle, Canvas and spreadsheets, and writes tables in which no spreadsheet
finds a formula.
"""

import codecs
import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tutorlib.classroom import CannotGrade

DELIMITERS = ",;\t"
LONGEST_STEM = 40  # letters of a file's name


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


def read_csv(path: Path, fields: Mapping[str, tuple[str, ...]]) -> tuple[set[str], list[dict[str, str]]]:
    """The columns of a CSV file, in lower case, and for each row that is not empty its fields and its `place`.

    fields: name → the columns that may hold it; the first that is not empty counts. place: "roster.csv, line 2".
    The delimiter: whichever of DELIMITERS the header has most often. Raises CannotGrade.
    """
    text = read_text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    try:
        columns = [name.strip().casefold() for name in reader.fieldnames or ()]
        reader.fieldnames = columns
        rows = []
        for row in reader:
            place = f"{path.name}, line {reader.line_num}"
            if any(map(str.strip, row.pop(None, ()))):  # the fields beyond the last column
                more = f"there are more than {len(columns)} fields"
                raise CannotGrade(f"{place}: {more}; put a field that contains {delimiter!r} in quotation marks.")
            cells = {column: unescaped(cell.strip()) for column, cell in row.items()}
            if any(cells.values()):
                found = {
                    name: next(filter(None, (cells.get(column) for column in where)), "")
                    for name, where in fields.items()
                }
                rows.append(found | {"place": place})
    except csv.Error as error:
        raise CannotGrade(f"{path.name}: not a CSV file: {error}.") from None
    return set(columns), rows


def write_whole(path: Path, content: bytes) -> None:
    """Write a file: as a whole, or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def report_name(name: str) -> str:
    """A student's name for files: what of it can be in one, and some digits of its hash, which tell two apart."""
    plain = re.sub(r"[^\w ,()-]", "_", name)[:LONGEST_STEM].strip()
    return f"{plain}-{sha256(name.encode()).hexdigest()[:8]}"
