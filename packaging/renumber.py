"""Carry a record of points over to the course's 24 pages: python packaging/renumber.py [progress.jsonl]

The exercises' old and new numbers are the table in docs/renumbered.md. The old record stays beside the new one, as
progress.21_pages.jsonl; where there is one, nothing is done.
"""

import json
import re
import sys
from pathlib import Path

from tutorlib.notebook.standing import file

ROW = re.compile(r"^\| (\d\d)\.(\d+)(?: to (\d+))? \| (\d\d)\.(\d+)(?: to \d+)? \|$", re.MULTILINE)


def numbers(table: str) -> dict[str, str]:
    """Old id → new id. table: rows such as `| 02.5 to 8 | 03.2 to 8 |`."""
    return {
        f"{old}.{int(first) + k}": f"{new}.{int(begins) + k}"
        for old, first, last, new, begins in ROW.findall(table)
        for k in range(int(last or first) - int(first) + 1)
    }


def main() -> None:
    record = Path(sys.argv[1]) if len(sys.argv) > 1 else file()
    if record is None or not record.exists():
        sys.exit("There is no record of points.")
    before = record.with_name(f"{record.stem}.21_pages{record.suffix}")
    if before.exists():
        sys.exit(f"{before} is there: {record} was carried over already.")
    new = numbers((Path(__file__).parents[1] / "docs" / "renumbered.md").read_text(encoding="utf-8"))
    attempts = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    kept = [{**attempt, "exercise": new[attempt["exercise"]]} for attempt in attempts if attempt["exercise"] in new]
    record.rename(before)
    record.write_text("".join(json.dumps(attempt) + "\n" for attempt in kept), encoding="utf-8")
    print(f"{record}: {len(kept)} of {len(attempts)} attempts; the others were at exercises that are gone.")


if __name__ == "__main__":
    main()
