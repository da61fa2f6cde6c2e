"""The glossary, built from terms.toml, and the links to it from the first use of each term in a page's prose.

Sources have no links. JupyterLab keeps only the anchors of headings, so each term is a heading.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from nbformat import NotebookNode, v4

from tutorlib.course.source import read

GLOSSARY = "glossary"
NOT_PROSE = re.compile(
    r"""
      ^[ >]*(?P<fence>```+|~~~+)(?s:.*?)^[ >]*(?P=fence)   # a fenced block
    | ^[ ]{4}.*$                                           # an indented one
    | ^\#.*$                                               # a heading
    | (?P<tick>`+)(?s:.+?)(?P=tick)                        # a code span
    | ^[ ]{0,3}<(?s:.+?)(?=\n[ ]*\n|\Z)                     # a block of HTML, up to an empty line
    | \$\$(?s:.+?)\$\$ | \$[^$\n]+\$                       # math
    | !?\[(?:[^]\[]|\[[^]]*\])*\]\([^)\n]*\)               # a link or a picture
    | <[^>\n]+> | https?://\S+                             # HTML, an address
    """,
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True, eq=False)
class Term:
    """An entry; terms.toml explains the fields."""

    name: str
    page: str
    says: str
    ptx: str = ""
    dsl: str = ""
    also: Sequence[str] = ()
    unlike: Sequence[str] = ()


def read_terms() -> tuple[Term, ...]:
    found = tomllib.loads(Path(__file__).with_name("terms.toml").read_text(encoding="utf-8"))
    return tuple(Term(name, **entry) for name, entry in found.items())


TERMS = read_terms()


def anchor(heading: str) -> str:
    """The URL fragment of a heading, in JupyterLab and in nbconvert's HTML."""
    return quote(heading.replace("`", "").replace(" ", "-"), safe="?/:@!$&'*+,;=")


@cache
def pattern_of(term: Term) -> re.Pattern[str]:
    """Matches the term in prose: its forms, their plurals, and a capital at the start of a sentence."""
    forms = "|".join(one_form(form) for form in sorted((term.name, *term.also), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{forms})(?![\w-]|\.\w)")


def one_form(form: str) -> str:
    first, others = form[0], re.escape(form[1:]).replace(r"\ ", r"\s+")
    initial = re.escape(first) if form != form.lower() else f"[{first}{first.upper()}]"
    if others.endswith("y"):
        return f"{initial}{others[:-1]}(?:y|ies)"
    return f"{initial}{others}(?:{'es' if form.endswith(('s', 'x', 'ch', 'sh')) else 's'})?"


def prose(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a Markdown text in order, and whether each is prose."""
    done = 0
    for found in NOT_PROSE.finditer(text):
        yield text[done : found.start()], True
        yield found.group(), False
        done = found.end()
    yield text[done:], True


def link_terms(notebook: NotebookNode) -> NotebookNode:
    """The page with the first use of each term linked to the glossary."""
    left = list(TERMS)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = "".join(linked(piece, left) if is_prose else piece for piece, is_prose in prose(cell.source))
    return notebook


def linked(text: str, left: list[Term]) -> str:
    """Prose with links to the terms in `left`, each removed once linked.

    A longer term hides those within it, as does a phrase in which the word has another sense.
    """
    found = sorted(
        [(match, term) for term in TERMS for match in pattern_of(term).finditer(text)]
        + [(match, None) for term in TERMS for form in term.unlike for match in re.finditer(one_form(form), text)],
        key=lambda pair: (pair[0].start(), -pair[0].end()),
    )
    parts, done = [], 0
    for match, term in found:
        if match.start() < done:
            continue
        parts.append(text[done : match.start()])
        done = match.end()
        if term and term in left:
            left.remove(term)
            parts.append(f"[{match.group()}]({GLOSSARY}.ipynb#{anchor(term.name)})")
        else:
            parts.append(match.group())
    return "".join([*parts, text[done:]])


def section(term: Term, page: NotebookNode) -> str:
    """The heading of the section of a page that teaches a term; "" if the page never uses it.

    The first heading that names the term or is above a use in bold, which defines it, else the one above its first use;
    the page's title only if its section defines the term or no other uses it.
    """
    ranked: list[tuple[bool, int, int, str]] = []
    heading, is_title = "", True
    for cell in page.cells:
        for piece, is_prose in prose(cell.source) if cell.cell_type == "markdown" else [(cell.source, False)]:
            is_heading = cell.cell_type == "markdown" and piece.startswith("#")
            if is_heading:
                heading, is_title = piece.lstrip("# "), piece.startswith("# ")
            if pattern_of(term).search(piece):
                in_bold = any(pattern_of(term).search(bold) for bold in re.findall(r"\*\*([^*]+)\*\*", piece))
                rank = 0 if is_heading or in_bold else 1 if is_prose else 2
                ranked.append((is_title and not in_bold, rank, len(ranked), heading))
    return min(ranked)[-1] if ranked else ""


def glossary_page(solutions: Path) -> NotebookNode:
    """The glossary, with links to the sections that teach the terms."""
    sources = {path.stem[:2]: path for path in sorted(solutions.glob("[0-9][0-9]_*.py"))}
    pages = {number: read(path) for number, path in sources.items()}
    intro = (
        "# Glossary\n\nThe terms of this course. An entry has a definition, the names in PTX and in Python (CuTe; "
        "cuTile with `ct`), and the section that teaches the term. Pages link their first use of a term to its entry."
    )
    texts = [intro, *(entry(term, sources, pages) for term in sorted(TERMS, key=lambda term: term.name.lower()))]
    cells = [v4.new_markdown_cell(text, id=f"term-{n}") for n, text in enumerate(texts)]
    return v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})


def entry(term: Term, sources: dict[str, Path], pages: dict[str, NotebookNode]) -> str:
    names = [f"{where}: {name}" for where, name in (("PTX", term.ptx), ("Python", term.dsl)) if name]
    if term.page in sources and (heading := section(term, pages[term.page])):
        title = heading if heading.startswith(f"{term.page} · ") else f"{term.page} · {heading}"
        names.append(f"[{title}]({sources[term.page].stem}.ipynb#{anchor(heading)})")
    return f"### {term.name}\n\n{term.says}\n\n{' · '.join(names)}".rstrip()
