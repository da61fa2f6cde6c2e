"""Outcomes as JUnit XML: `tutor grade --out` writes a file for each notebook, `tutor class` one for the class."""

import re
from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree

from tutorlib.checking.exercise import Outcome

UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold
KINDS = {"passed": "", "not_run": "skipped", "error": "error", "timeout": "error"}  # JUnit's words; else "failure"


def junit(suites: Iterable[tuple[str, float | None, Iterable[Outcome]]]) -> str:
    """A test suite for each name, seconds (None: not known) and outcomes; in it a test case for each exercise."""
    root = ElementTree.Element("testsuites")
    for name, seconds, outcomes in suites:
        kinds = [(outcome, KINDS.get(outcome.status, "failure")) for outcome in outcomes]
        number = Counter(kind for _, kind in kinds)
        totals = {"failures": number["failure"], "errors": number["error"], "skipped": number["skipped"]}
        numbers = {key: str(n) for key, n in ({"tests": len(kinds)} | totals).items()}
        time = {} if seconds is None else {"time": f"{seconds:.3f}"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": printable(name), **numbers, **time})
        for outcome, kind in kinds:
            title = printable(f"{outcome.id} {outcome.title}")
            case = ElementTree.SubElement(suite, "testcase", classname=outcome.id[:2], name=title)
            if kind:
                message = printable(outcome.message)
                ElementTree.SubElement(case, kind, message=message.partition("\n")[0]).text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def printable(text: str) -> str:
    return UNPRINTABLE.sub("?", text)
