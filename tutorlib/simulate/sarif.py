"""A report in SARIF 2.1.0, the format in which GitHub's code scanning takes results.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import json
from pathlib import Path
from typing import Any

from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.report import Report, causes, fingerprint

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(report: Report) -> str:
    """Each cause as a result; the findings that follow from it as its related locations. Of several alike, one."""
    results: dict[str, dict[str, Any]] = {}
    for launch in report.launches:
        for cause in causes(launch.findings):
            print_ = fingerprint(cause.finding, launch.kernel)
            results.setdefault(print_, sarif_result(cause.finding, cause.follow, launch.launched_at, print_))
    rules = [{"id": kind} for kind in sorted({result["ruleId"] for result in results.values()})]
    run = {"tool": {"driver": {"name": "tutor simulate", "rules": rules}}, "results": list(results.values())}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def sarif_result(
    finding: Finding, follow: tuple[Finding, ...], launched_at: SourceLine | None, print_: str
) -> dict[str, Any]:
    place = finding.place or launched_at
    related = [(finding.other, "the other access"), *((one.place, str(one.message)) for one in follow)]
    return {
        "ruleId": finding.kind.value,
        "level": "error",
        "message": {"text": str(finding)},
        "locations": [location(place)] if place else [],
        "relatedLocations": [location(at) | {"message": {"text": text}} for at, text in related if at],
        "partialFingerprints": {"finding/v1": print_},
    }


def location(place: SourceLine) -> dict[str, Any]:
    """Its file relative to the working directory, where it lies below it, as GitHub wants paths."""
    path = Path(place.file)
    uri = path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_uri()
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}}
