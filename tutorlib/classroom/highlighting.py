"""A student's code as HTML: highlighted, escaped, and without invisible characters."""

import re
import unicodedata
from collections.abc import Collection

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tutorlib.classroom.task import LONGEST_ANSWER

MOST_MARKUP = 10  # bytes of HTML for a character; code has 6 or 7, and text that is made of signs alone has more
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, and marks that turn a line around


def visible(text: str) -> str:
    """The text with a sign such as ‹U+202E› for each character that hides, or that changes how others are seen."""
    text = re.sub("\r\n?", "\n", text[:LONGEST_ANSWER])
    seen = (f"‹U+{ord(c):04X}›" if c not in "\n\t" and unicodedata.category(c) in INVISIBLE else c for c in text)
    return "".join(seen)[:LONGEST_ANSWER]


def highlighted(text: str, marked: Collection[int] = ()) -> Markup:
    """Code as HTML, for a <pre>: its first LONGEST_ANSWER characters. marked: numbers of lines, from 1."""
    shown = visible(text)
    html = highlight(shown, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True, hl_lines=sorted(marked)))
    return Markup(html) if len(html) <= MOST_MARKUP * len(shown) + 100 else escape(shown)
