"""Tells GitHub the points of a graded submission: `python points.py results/scores.json >> "$GITHUB_STEP_SUMMARY"`.

Prints a table in Markdown. On stderr it prints notices, two in the words by which GitHub Classroom reads points from a
workflow, as its autograding-grading-reporter does. Exits 1 where a graded exercise lacks points.
"""

import json
import re
import sys
from pathlib import Path

MARKS = {"passed": "✅", "partial": "🟡", "not_run": "⚪"}  # all others: ❌


def table(scores: dict) -> str:
    """The exercises and their points, as Markdown that a message's text cannot change."""
    lines = [
        f"**{scores['points']:g} of {scores['max_points']:g} points**",
        "",
        "| | exercise | points | |",
        "|---|---|---|---|",
    ]
    for one in scores["exercises"]:
        said = "" if one["status"] == "passed" else plain(one["message"])
        mark = MARKS.get(one["status"], "❌")
        points = f"{one['points']:g} / {one['max_points']:g}"
        lines.append(f"| {mark} | {one['id']} {plain(one['title'])} | {points} | {said} |")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Text for a cell of a table: each sign that Markdown or HTML would read as its own is written as a number."""
    return re.sub(r"[^\w .,:;()/=+-]", lambda sign: f"&#{ord(sign[0])};", text).replace("&#10;", "<br>")


def notices(scores: dict) -> str:
    points = {"totalPoints": scores["points"], "maxPoints": scores["max_points"]}
    return "\n".join(
        (
            f"::notice title=Autograding complete::Points {points['totalPoints']:g}/{points['maxPoints']:g}",
            f"::notice title=Autograding report::{json.dumps(points)}",
        )
    )


def main(path: Path) -> int:
    scores = json.loads(path.read_text(encoding="utf-8"))
    print(table(scores))
    print(notices(scores), file=sys.stderr)
    return any(one["status"] not in ("passed", "not_run") for one in scores["exercises"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
