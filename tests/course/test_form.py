"""The form of a page: its head, its imports, its end. What is not needed further on follows as its appendix."""

import ast
import re

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tutorlib.course.contents import read_head
from tutorlib.course.source import SourceCell, parse
from tutorlib.paths import SOLUTIONS, notebook_names

PAGES = notebook_names()
CAN, TAKES = "> **After this page you can** ", "> **It takes** about "
APPENDIX = "## Appendix: "  # so each section after the main path begins
QUESTION = re.compile(r"<details><summary>(\d)\. .+?</summary>\n\n.+?\n\n</details>", re.DOTALL)


def parts(page: str) -> tuple[list[SourceCell], list[SourceCell]]:
    """A page's cells: its main path and its appendix."""
    cells = parse(SOLUTIONS / f"{page}.py")
    first = next((at for at, cell in enumerate(cells) if cell.text.startswith(APPENDIX)), len(cells))
    return cells[:first], cells[first:]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_what_it_teaches_and_takes(page):
    source = SOLUTIONS / f"{page}.py"
    first = parse(source)[0].text
    assert CAN in first
    assert f"{TAKES}{read_head(source).minutes} minutes, " in first


@pytest.mark.parametrize("page", PAGES)
def test_a_page_closes_with_what_to_remember_and_three_questions(page):
    last = parts(page)[0][-1].text
    assert last.index("## What to remember\n\n") < last.index("## Test yourself\n\n")
    assert QUESTION.findall(last) == ["1", "2", "3"]
    assert not re.search("<summary>[^<]*`", last), "in HTML write <code>"
    assert last.endswith("</details>")


@pytest.mark.parametrize("page", PAGES)
def test_an_appendix_has_its_time_in_the_head_and_on_the_page(page):
    main, appendix = parts(page)
    head = read_head(SOLUTIONS / f"{page}.py")
    assert bool(head.appendix) == bool(appendix)
    if appendix:
        assert f"its appendix about {head.appendix} more" in main[0].text


def imports(cell: SourceCell) -> list[ast.Import | ast.ImportFrom]:
    code = TransformerManager().transform_cell(cell.solved)
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_at_most_six_imports(page):
    """From the course, it imports from tutorlib, and its own kernel's names from one module."""
    head = imports(next(cell for cell in parts(page)[0] if cell.kind == "code"))
    assert len(head) <= 6
    assert sum(node.module.startswith("tutorlib") for node in head if isinstance(node, ast.ImportFrom)) <= 2


@pytest.mark.parametrize("page", PAGES)
def test_every_import_of_a_page_works(page):
    for cell in parse(SOLUTIONS / f"{page}.py"):
        if cell.kind == "code":
            exec(compile(ast.Module(list(imports(cell)), []), page, "exec"), {})
