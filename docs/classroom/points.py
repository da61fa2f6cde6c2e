"""Reports a graded submission's points to GitHub: `python points.py results/scores.json >> "$GITHUB_STEP_SUMMARY"`.

Prints a Markdown table. On stderr it prints two notices in the format of autograding-grading-reporter, from which
GitHub Classroom reads the points. Exits 1 if a graded exercise lacks points.
"""

import json
import re
import sys
from pathlib import Path

MARKS = {"passed": "✅", "partial": "🟡", "not_run": "⚪"}  # all others: ❌


def table(scores: dict) -> str:
    """The exercises and their points as Markdown, with messages escaped."""
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
    """Text for a table cell, in which each character that is markup in Markdown or HTML is a numeric reference."""
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
