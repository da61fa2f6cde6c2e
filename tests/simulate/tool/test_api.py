"""`simulate`, `Report` and `Finding`."""

import json

import pytest
import torch

from tests.simulate.tool import kernels, tiles
from tests.simulate.tool.sources import DOUBLE, UNGUARDED
from tutorlib.compiling.errors import CompileFailed
from tutorlib.simulate import Finding, Report, simulate

CUDA = """
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
    assert (finding.place.file, finding.place.line) == (str(file), 3)


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
    assert finding["file"] == kernels.__file__
    assert finding["text"].startswith("dst[")
    assert said["counts"]["blocks"] == 2


# what does not fit ----------------------------------------------------------------------------------------------

X = torch.zeros(64)


@pytest.mark.parametrize(
    ("kernel", "arguments", "keywords", "error", "says"),
    [
        (kernels.reverse, (X, X, 64, 1), {}, ValueError, "reverse takes src, dst, threads: too many"),
        (kernels.reverse, (X, 3, 64), {}, CompileFailed, "."),
        (tiles.summed, (X,), {}, ValueError, "summed takes a, b, first: missing"),
        (DOUBLE.replace(".reqntid 32", ""), (X, X, 64), {"grid": (2,)}, ValueError, "needs a block"),
        (DOUBLE, (X, X, 64), {"grid": (2,), "block": (64,)}, ValueError, "is compiled for blocks of"),
        (3, (), {}, TypeError, "3 is no kernel"),
        (DOUBLE, (X.to("meta"), X, 64), {"grid": (2,)}, ValueError, "argument 0 is on meta"),
    ],
)
def test_what_does_not_fit_is_refused(kernel, arguments, keywords, error, says):
    with pytest.raises(error, match=says):
        simulate(kernel, *arguments, **keywords)
