"""Findings by their causes, as text and as SARIF, and those that a baseline knows."""

import json

from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.findings import Finding, SourceLine
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.report import Report, causes, fingerprint, to_sarif


def at(line):
    return SourceLine("/gemm.py", line, f"text {line}")


def finding(kind, line, other=None, message="…"):
    return Finding(kind, message, at(line), 0, 1, other and at(other))


WAIT = [
    finding(Hazard.UNWAITED, 10, 3),
    finding(Hazard.OUTSIDE, 40),
    finding(Hazard.UNWAITED, 12, 4),  # another line, but one wait orders both
    finding(Hazard.UNWRITTEN, 12),
    finding(Hazard.OUTSIDE, 41),
]


def by_lines(findings):
    return [(first.place.line, [other.place.line for other in others]) for first, *others in causes(findings)]


def test_findings_that_share_a_line_or_lack_the_same_order_have_one_cause():
    assert by_lines(WAIT) == [(10, [12, 12]), (40, []), (41, [])]


def test_whatever_follows_wrong_progress_may_come_from_it():
    stuck = [finding(Hazard.MBARRIER, 1), *WAIT, finding(Hazard.DEADLOCK, 50)]
    assert by_lines(stuck) == [(1, [10, 40, 12, 12, 41, 50])]


def test_a_late_finding_joins_two_groups():
    joined = [finding(Hazard.RACE, 1, 2), finding(Hazard.UNWRITTEN, 5), finding(Hazard.UNWAITED, 5, 2)]
    assert by_lines(joined) == [(1, [5, 5])]


def launch(*findings, kernel="gemm_kernel"):
    return LaunchReport(findings, (), 4, (), kernel=kernel)


def test_the_text_folds_what_follows_and_counts_launches_that_are_alike():
    text = str(Report("90a", (launch(*WAIT), launch(*WAIT), launch(kernel="other"))))
    assert text.splitlines()[:5] == [
        "sm_90a: 3 launches, 10 findings",
        "gemm_kernel: 4 blocks (2 launches)",
        "✗ unwaited: …",
        "    /gemm.py:10: text 10",
        "    and 2 findings that follow: unwaited at /gemm.py:12, unwritten at /gemm.py:12",
    ]
    assert text.splitlines()[-1] == "other: 4 blocks"


def test_a_fingerprint_outlives_other_lines_and_numbers():
    one, moved = (
        finding(Hazard.RACE, 10, 3),
        Finding(Hazard.RACE, "thread 7 …", SourceLine("/gemm.py", 99, "text 10"), 0, 4, at(3)),
    )
    assert fingerprint(one, "k") == fingerprint(moved, "k")
    assert len({fingerprint(one, "k"), fingerprint(one, "other"), fingerprint(finding(Hazard.RACE, 10, 4), "k")}) == 3
    bare = [Finding(Hazard.RACE, f"thread {n} races", None, n, 1) for n in (1, 2)]
    assert fingerprint(bare[0], "k") == fingerprint(bare[1], "k")


def test_a_report_without_what_is_known():
    report = Report("90a", (launch(*WAIT),))
    known = {fingerprint(one, "gemm_kernel") for one in WAIT[:3]}
    assert [one.place.line for one in report.without(known).findings] == [12, 41]
    assert [one["follows"] is None for one in json.loads(report.to_json())["findings"]] == [
        True,
        False,
        False,
        True,
        True,
    ]


def test_sarif(monkeypatch):
    """What GitHub reads: https://docs.github.com/en/code-security/code-scanning, SARIF support."""
    monkeypatch.chdir("/")
    said = json.loads(to_sarif(Report("90a", (launch(*WAIT), launch(*WAIT)))))
    assert said["version"] == "2.1.0"
    (run,) = said["runs"]
    assert run["tool"]["driver"]["name"] == "tutor simulate"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"unwaited", "outside"}
    assert [result["ruleId"] for result in run["results"]] == ["unwaited", "outside", "outside"]
    first = run["results"][0]
    assert first["message"]["text"] == "… (line 10, `text 10`)"
    place = first["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("gemm.py", 10)
    lines = [one["physicalLocation"]["region"]["startLine"] for one in first["relatedLocations"]]
    assert lines == [3, 12, 12]
    assert first["partialFingerprints"] == {"finding/v1": fingerprint(WAIT[0], "gemm_kernel")}
