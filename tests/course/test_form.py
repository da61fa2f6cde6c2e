"""The form of a page: what it opens and closes with. A page joins by its name in PAGES."""

import re

import pytest

from tutorlib.course.contents import read_head
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS, notebook_names

PAGES = notebook_names()
CAN, TAKES = "> **After this page you can** ", "> **It takes** about "
QUESTION = re.compile(r"<details><summary>(\d)\. .+?</summary>\n\n.+?\n\n</details>", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_what_it_teaches_and_takes(page):
    source = SOLUTIONS / f"{page}.py"
    first = parse(source)[0].text
    assert CAN in first
    assert f"{TAKES}{read_head(source).minutes} minutes, " in first


@pytest.mark.parametrize("page", PAGES)
def test_a_page_closes_with_what_to_remember_and_three_questions(page):
    last = parse(SOLUTIONS / f"{page}.py")[-1].text
    assert last.index("## What to remember\n\n") < last.index("## Test yourself\n\n")
    assert QUESTION.findall(last) == ["1", "2", "3"]
    assert not re.search("<summary>[^<]*`", last), "in HTML write <code>"
    assert last.endswith("</details>")
