"""`simulate`, `Report` and `Finding`; findings by their causes, and the names and lines of the source."""

import json
import linecache

import pytest
import torch

from tests.simulate.ptx.snippets import DOUBLE, UNGUARDED
from tests.simulate.tool import kernels, tiles
from tutorlib.compiling.errors import CompileFailed
from tutorlib.failure import Hazard
from tutorlib.simulate import Finding, Report, simulate
from tutorlib.simulate.ptx.findings import NotSimulated, SourceLine, name_made_at, quoted
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.report import causes, fingerprint

CUDA = """
#include <cooperative_groups.h>

namespace ours {
template <typename T, int N>
__global__ void scale(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] * N; }
}
__constant__ float factor = 2.5f;
__device__ double offsets[2] = {-1.5, 0.25};
__constant__ struct { float a; int b; } both = {0.5f, -3};
__global__ void constants(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x] * factor + offsets[threadIdx.x % 2] + both.a + both.b;
}
__global__ void synced(const float* x, float* y) {
    y[threadIdx.x] = x[threadIdx.x];
    cooperative_groups::this_grid().sync();
}
__global__ void triple(const float* x, float* y) { y[threadIdx.x] = 3 * x[threadIdx.x]; }
__global__ void halve(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x + 1] / 2; }
"""


def reverse(kernel=kernels.reverse, *more, **keywords):
    src, dst = torch.arange(128.0), torch.zeros(128)
    return dst, simulate(kernel, src, dst, *more, **keywords)


# kinds of kernels -----------------------------------------------------------------------------------------------


def test_a_cute_host_function_with_a_constant_and_a_stream():
    dst, report = reverse(kernels.reverse, 64)
    assert torch.equal(dst, kernels.reversed_blocks(torch.arange(128.0), 64))
    assert isinstance(report, Report)
    assert report.findings == ()
    assert report.counts["blocks"] == 2
    assert report.counts["sectors"] == report.counts["sectors needed"] == 32
    assert report.counts["wavefronts"] == 8
    report.raise_for_findings()


def test_an_object_that_is_called_and_its_race():
    _, report = reverse(kernels.Reverse(64, waits=False), arch="90a")
    (finding,) = report.findings
    assert isinstance(finding, Finding)
    assert finding.kind == "race"
    assert finding.place.file == kernels.__file__
    assert finding.place.text == "dst[block * threads + thread] = tile[threads - 1 - thread]"
    with pytest.raises(AssertionError, match="sm_90a: 1 launch, 1 finding\nreverse_kernel: 2 blocks, "):
        report.raise_for_findings()


def test_a_function_that_compiles_and_calls_cute():
    src = torch.arange(128.0)
    report = simulate(kernels.reverse_here, src)
    assert report.findings == ()
    assert torch.equal(report.returned, kernels.reversed_blocks(src, 64))


@pytest.mark.parametrize("waits", [True, False])
def test_a_function_that_calls_cute_directly(waits):
    src = torch.arange(128.0)
    report = simulate(kernels.reverse_twice, src, waits)
    assert [launch.blocks for launch in report.launches] == [2, 2]
    assert [finding.kind for finding in report.findings] == ([] if waits else ["race", "race"])
    assert torch.equal(report.returned, src)


def test_a_function_that_launches_tiles():
    a, b = torch.randn(256), torch.randn(256)
    report = simulate(tiles.summed, a, b)
    assert report.findings == ()
    assert torch.equal(report.returned, a + b)


def test_a_tile_kernel_and_its_access_outside():
    a, b, c = torch.randn(256), torch.randn(256), torch.zeros(256)
    assert not simulate(tiles.add, a, b, c, 0, grid=(2,)).findings
    (finding,) = simulate(tiles.add, a, b, c, 1, grid=(2,)).findings
    assert (finding.kind, finding.place.file) == ("outside", tiles.__file__)
    assert finding.place.text.startswith("ct.store(c, (at,)")


def test_ptx_as_text_and_as_a_file(tmp_path):
    x, y = torch.randn(40), torch.zeros(40)
    assert not simulate(DOUBLE, x, y, 40, grid=(2,)).findings
    assert torch.equal(y, 2 * x)
    file = tmp_path / "unguarded.ptx"
    file.write_text(UNGUARDED)
    findings = simulate(file, x, y, 40, grid=(2,)).findings
    assert [finding.kind for finding in findings] == ["outside", "outside"]


def test_cuda_cpp_names_its_own_file(tmp_path):
    file = tmp_path / "kernels.cu"
    file.write_text(CUDA)
    x, y = torch.randn(32), torch.zeros(32)
    assert not simulate(file, x, y, grid=(1,), block=(32,), entry="triple").findings
    assert torch.equal(y, 3 * x)
    (finding,) = simulate(file, x, y, grid=(1,), block=(32,), entry="halve").findings
    assert (finding.place.file, finding.place.text) == (str(file), CUDA.splitlines()[-1])


ONE_BLOCK = {"grid": (1,), "block": (32,)}


def test_constants_and_instances_of_templates_have_their_values():
    x, y, z = torch.randn(32), torch.zeros(32), torch.zeros(32)
    simulate(CUDA, x, y, entry="constants", **ONE_BLOCK)
    torch.testing.assert_close(y, x * 2.5 + torch.tensor([-1.5, 0.25]).repeat(16) - 2.5)
    report = simulate(CUDA, x, z, entry="ours::scale<float, 3>", **ONE_BLOCK)
    assert torch.equal(z, 3 * x)
    assert "\nours::scale<float, 3>: 1 block, " in str(report)
    past = simulate(CUDA, x, y, entry="constants", grid=(1,), block=(64,))
    assert "loads x[32], which lies outside x of shape (32,)" in str(past)


def test_a_barrier_of_the_grid_is_named():
    with pytest.raises(NotSimulated, match=r"grid.sync\(\), the barrier of all blocks of a cooperative launch, is not"):
        simulate(CUDA, torch.zeros(32), torch.zeros(32), entry="synced", **ONE_BLOCK)


def test_a_descriptor_for_tma_that_asserts_its_driver():
    dst, report = reverse(kernels.with_a_descriptor, arch="90a")
    assert torch.equal(dst, kernels.reversed_blocks(torch.arange(128.0), 64))
    assert not report.findings


# text and JSON --------------------------------------------------------------------------------------------------


def test_the_text_names_the_line_and_what_costs_too_much(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    report = reverse(kernels.Reverse(64, waits=False))[1]
    text = str(report)
    assert f"\n    {kernels.__file__}:{report.findings[0].place.line}: dst[block * threads" in text
    assert f", called from {kernels.__file__}:" in text
    assert "!" not in text
    x, y = torch.randn(64), torch.zeros(64)
    strided = DOUBLE.replace("mul.wide.s32 %rd3, %r4, 4", "mul.wide.s32 %rd3, %r4, 8")
    assert "! ld.global         8 sectors    of 4 needed" in str(simulate(strided, x, y, 32, grid=(1,)))


def test_json_holds_what_the_report_holds():
    said = json.loads(reverse(kernels.Reverse(64, waits=False))[1].to_json())
    (finding,) = said["findings"]
    assert finding["kind"] == "race"
    assert finding["place"]["file"] == kernels.__file__
    assert finding["place"]["text"].startswith("dst[")
    assert said["counts"]["blocks"] == 2


# what does not fit ----------------------------------------------------------------------------------------------

X = torch.zeros(64)
BREAKS = DOUBLE.replace("add.f32", "brkpt;\n    add.f32")


@pytest.mark.parametrize(
    ("kernel", "arguments", "keywords", "error", "says"),
    [
        (kernels.reverse, (X, 3, 64), {}, Exception, "argument #2"),
        (DOUBLE.replace(".reqntid 32", ""), (X, X, 64), {"grid": (2,)}, ValueError, "needs a block"),
        (DOUBLE, (X, X, 64), {"grid": (2,), "block": (64,)}, ValueError, "is compiled for blocks of"),
        (3, (), {}, TypeError, "3 is no kernel"),
        (kernels.reverse_kernel, (X,), {}, TypeError, "simulate the @cute.jit function that launches it"),
        (kernels.launches_nothing, (X,), {}, ValueError, "launches_nothing launches no kernel"),
        (kernels.reverse, (X, X, 2000), {}, ValueError, "a block of 2,000 threads"),
        (tiles.add, (X,), {}, ValueError, "a grid has one to three sizes, not 0"),
        (tiles.add, (X, X, X, 1.5), {"grid": (2,)}, CompileFailed, "line "),
        (DOUBLE, (X,), {}, ValueError, "a kernel of PTX or CUDA C[+][+] needs a grid"),
        (DOUBLE, (X,), {"grid": (2,)}, ValueError, "doubled takes 3 parameters, not 1"),
        (DOUBLE, (X,), {"grid": (2,), "entry": "tripled"}, ValueError, "name one of doubled"),
        (BREAKS, (X, X, 64), {"grid": (2,)}, NotSimulated, r"brkpt is not simulated \(line "),
        (DOUBLE, (X.to("meta"), X, 64), {"grid": (2,)}, ValueError, "argument 0 is on meta"),
    ],
)
def test_what_does_not_fit_is_refused(kernel, arguments, keywords, error, says):
    with pytest.raises(error, match=says):
        simulate(kernel, *arguments, **keywords)


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
    said = json.loads(Report("90a", (launch(*WAIT), launch(*WAIT))).to_sarif())
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


SOURCE = """\
import torch
a = torch.ones(4)  # four ones
cute.copy(
    tiled_copy,  # the first
    source[None, 0],
)
b, c = torch.ones(1), torch.zeros(2)
self.d = f(
    a,
)
broken(
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "a = torch.ones(4)  # four ones"),
        (3, "cute.copy(tiled_copy, source[None, 0])"),
        (5, "source[None, 0],"),
        (8, "self.d = f(a)"),
        (11, "broken("),
        (40, ""),
    ],
)
def test_the_whole_call_is_quoted(file, line, text):
    assert quoted(file, line) == text


def test_the_name_that_a_value_is_given(file, tmp_path):
    whole = tmp_path / "whole.py"
    whole.write_text(SOURCE.replace("broken(\n", ""))
    names = [name_made_at(str(whole), line, column) for line, column in [(2, 4), (3, 0), (7, 7), (7, 22), (9, None)]]
    assert names == ["a", "", "b", "c", "self.d"]
    assert name_made_at(file, 2) == ""  # it is no Python


def messages(host, **options):
    report = simulate(host, torch.arange(32.0), torch.zeros(32), **options)
    return [str(finding.message) for finding in report.findings]


def test_shared_memory_and_mbarriers_have_the_sources_names():
    (unwritten,) = messages(kernels.reads_unwritten)
    assert unwritten.endswith("reads shared memory that was never written (byte 0 of tile)")
    (race,) = messages(kernels.races)
    assert race.endswith("with no barrier between (storage.values)")
    (deadlock,) = messages(kernels.waits_for_ever, arch="90a")
    assert "waits forever: phase 0 (parity 0) of the mbarrier at full[1], made at line " in deadlock


def test_places_leave_out_what_the_dsl_makes_of_control_flow():
    report = simulate(kernels.in_a_loop, torch.arange(32.0), torch.zeros(32), 3)
    (finding,) = report.findings
    at = [finding.place.line, *(line for _, line in finding.place.called_from)]
    texts = [linecache.getline(kernels.__file__, line).strip() for line in at]
    assert texts == ["y[thread + n] = x[thread]", "in_a_loop_kernel(x, y, n).launch(grid=(1, 1, 1), block=(32, 1, 1))"]
