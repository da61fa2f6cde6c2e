"""An answer's statements, without what disguises a copy: comments, layout, variable names, order."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pygments.lexers import CppLexer, PythonLexer
from pygments.token import Comment, Name, String

MOST = 500  # statements of one answer that are looked at
NAME = "·"  # stands for each name of a variable, a function or a class
GIVE_UP = re.compile(r"(def .* :)?( ?(pass|\. \. \.|raise .*|return( \S+)?))?")
OPEN, CLOSED = frozenset("(["), frozenset(")]")


@dataclass
class Statements:
    """lines: statement, normalized → the numbers of its lines in the text, from 1."""

    lines: dict[str, set[int]] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    at: set[int] = field(default_factory=set)

    def add(self, part: str, line: int) -> None:
        self.parts.append(part)
        self.at.add(line)

    def end(self) -> None:
        """The statement that the parts make up is complete."""
        if self.parts and len(self.lines) < MOST:
            self.lines.setdefault(" ".join(self.parts), set()).update(self.at)
        self.parts, self.at = [], set()


def statements(text: str) -> Mapping[str, set[int]]:
    """The statements of an answer → their lines. Two answers that differ in names, comments and order have the same.

    It takes nothing but the lexer's word: no text is parsed or compiled, and none is refused.
    """
    found = Statements()
    read(PythonLexer(stripnl=False).get_tokens(text), found)
    return found.lines


def gives_up(found: Iterable[str]) -> bool:
    """Whether an answer of these statements only raises, returns at once or does nothing."""
    return all(GIVE_UP.fullmatch(one) for one in found)


def read(tokens: Any, found: Statements, line: int = 1) -> None:
    """Add the statements of these tokens of Pygments', the first of which is in this line."""
    depth = 0
    for is_string, group in groupby(tokens, key=lambda token: token[0] in String):
        pieces = list(group)
        if is_string:
            written = "".join(piece for kind, piece in pieces if kind not in String.Doc)
            if "\n" in written:  # a kernel's source
                read(CppLexer(stripnl=False, ensurenl=False).get_tokens(written.strip("rR\"'")), found, line)
            elif written:
                found.add(written, line)
            line += sum(piece.count("\n") for _, piece in pieces)
            continue
        for kind, piece in pieces:
            if piece in OPEN:
                depth += 1
            elif piece in CLOSED:
                depth = max(0, depth - 1)
            if not depth and (piece in (";", "{", "}") or "\n" in piece):
                found.end()
            elif (piece.strip() and kind not in Comment) or kind in Comment.Preproc:
                of_library = found.parts[-1:] == ["."] or found.parts[-2:] == [":", ":"]
                is_own = kind in Name and kind not in Name.Builtin and not of_library
                found.add(NAME if is_own else piece.strip(), line)
            line += piece.count("\n")
    found.end()
