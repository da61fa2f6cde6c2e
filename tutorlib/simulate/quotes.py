"""A reader's source, quoted: the whole statement at a line, and the name that it assigns to."""

import ast
import linecache
import re
from collections.abc import Sequence
from functools import cache

MOST_LINES = 12  # of one statement
WIDEST = 120  # letters
COMMENT = re.compile(r"\s+(?:#|//).*$")


def quoted(file: str, line: int, lines: Sequence[str] = ()) -> str:
    """The text at a line, stripped; where it opens a bracket, up to the line that closes it.

    lines: of the file, if it is not on disk.
    """
    rest = (lines or linecache.getlines(file))[max(line - 1, 0) : line - 1 + MOST_LINES]
    if not rest:
        return ""
    whole = ""
    for one in rest:
        whole = f"{whole} {COMMENT.sub('', one).strip()}".strip()
        depth = sum(whole.count(bracket) for bracket in "([{") - sum(whole.count(bracket) for bracket in ")]}")
        if depth <= 0:
            break
    if whole == COMMENT.sub("", rest[0]).strip() or depth:
        return rest[0].strip()
    whole = re.sub(r"(?<=[(\[{]) | (?=[)\]}])|,(?= ?[)\]}])", "", whole)
    return whole if len(whole) <= WIDEST else f"{whole[: WIDEST - 1]}…"


def name_made_at(file: str, line: int, column: int | None = None) -> str:
    """The name that the statement at a line assigns to: "a" of `a = torch.ones(4)`, "self.a"; "" if there is none.

    column: where the value begins, of which several are assigned.
    """
    found = [one for one in assignments(file) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not found:
        return ""
    statement = max(found, key=lambda one: one.lineno)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    values = statement.value
    if isinstance(target, ast.Tuple) and isinstance(values, ast.Tuple) and column is not None:
        pairs = zip(target.elts, values.elts, strict=False)
        target = next(
            (to for to, value in pairs if (value.lineno, value.col_offset) <= (line, column) < end_of(value)), target
        )
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def end_of(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


@cache
def assignments(file: str) -> list[ast.Assign | ast.AnnAssign]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
