"""The GPU that stands in for one: `tutor simulate -- COMMAND`, and torch on it."""

import json
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from tutorlib.cli import app
from tutorlib.paths import ROOT
from tutorlib.simulate import command
from tutorlib.simulate.ptx.launch import relocate
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.stand_in.gpu import StandInGpu, line_of_the_script
from tutorlib.simulate.stand_in.script import stand_in
from tutorlib.simulate.tensors import is_poison

SCRIPT = Path(__file__).with_name("script.py").relative_to(ROOT)
LINES = (ROOT / SCRIPT).read_text().splitlines()


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    monkeypatch.chdir(ROOT)


def line_of(text):
    return next(n for n, line in enumerate(LINES, 1) if text in line)


def tutor(*words):
    return CliRunner().invoke(app, ["simulate", *words])


def in_script(*words, options=()):
    return tutor("--arch", "90a", *options, "--", sys.executable, str(SCRIPT), *words)


def test_every_launch_of_a_script_is_simulated():
    done = in_script("right", "ffi", "double")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "sm_90a: 4 launches, no finding"
    at = f"{SCRIPT}:{line_of('    shift(from_dlpack')}"
    assert f"shift_kernel, launched at {at}: 1 block, 9 warp instructions" in done.stdout
    assert f"double, launched at {SCRIPT}:{line_of('ct.launch')}: 1 block" in done.stdout


def test_findings_by_launch_in_json(tmp_path):
    done = in_script("outside", options=("--format", "json"))
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert [launch["kernel"] for launch in said["launches"]] == ["shift_kernel"] * 2
    assert [finding["launch"] for finding in said["findings"]] == [0, 1]
    assert "stores y[32], which lies outside y of shape (32,)" in said["findings"][0]["message"]
    called_from = said["findings"][0]["place"]["called_from"]
    assert [line for _, line in called_from] == [line_of("shift_kernel(x, y, by).launch")]
    assert said["wrong"] == [f"{sys.executable} {SCRIPT} outside ends with status 1"]  # y[0] is not written
    known = tmp_path / "findings.json"
    known.write_text(done.stdout)
    again = in_script("outside", options=("--baseline", str(known)))
    assert "2 known findings" in again.stdout
    assert "✗ outside" not in again.stdout


def test_a_launch_that_could_not_be_simulated_is_no_success(monkeypatch):
    """Although the script went on."""
    stopped = LaunchReport((), (), 0, (), kernel="k", stopped="brkpt is not simulated: this kernel needs a GPU")
    monkeypatch.setattr(command, "run_script", lambda *args, **options: ((stopped,), 0))
    done = tutor("--", "python", "script.py")
    assert done.exit_code == 1
    assert "k: brkpt is not simulated: this kernel needs a GPU\n✗ 1 launch could not be simulated" in done.stdout


def test_pytest_is_a_command_and_tests_are_named():
    done = tutor("--", "pytest", "-q", "-p", "no:cacheprovider", str(SCRIPT), "-k", "double")
    assert done.exit_code == 0
    assert "::test_double: 1 block" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no_such_command",), "no_such_command"),
        (("python", "-c", "print(1)"), "python -c 'print(1)' launches no kernel"),
        (("python", "-c", "raise SystemExit(3)"), "ends with status 3 and launches no kernel"),
        (("python", "-c", "import os; os.kill(os.getpid(), 11)"), "crashes: Segmentation fault and launches no kernel"),
    ],
)
def test_what_launches_nothing_ends_with_2(words, says):
    done = tutor("--", *words)
    assert done.exit_code == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def gpu():
    gpu = StandInGpu("90a", lambda report: None)
    with stand_in(lambda: gpu):
        yield gpu


@pytest.mark.usefixtures("gpu")
def test_tensors_know_where_they_are():
    here = torch.ones(4)
    there = here.to("cuda")
    assert (here.is_cuda, there.is_cuda, (there + 1).is_cuda, there.cpu().is_cuda) == (False, True, True, False)
    assert torch.empty(3, device=there.device).is_cuda
    assert there[1:].device == torch.device("cuda", 0)
    there += 1
    assert here.tolist() == [1] * 4
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda
    assert torch.randn(2, device="cuda", generator=torch.Generator("cuda").manual_seed(0)).is_cuda


@pytest.mark.usefixtures("gpu")
def test_new_memory_has_no_value():
    made = torch.empty(4, device="cuda"), torch.empty_like(torch.ones(4, device="cuda"), dtype=torch.int8)
    assert all(is_poison(tensor).all() for tensor in made)


@pytest.mark.usefixtures("gpu")
def test_torch_speaks_of_the_gpu():
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_capability() == (9, 0)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.synchronize()


@pytest.mark.usefixtures("gpu")
def test_a_default_device_and_what_modules_do():
    torch.set_default_device("cuda")
    layer = torch.nn.Linear(4, 4)
    assert layer.weight.is_cuda
    assert torch.get_default_device().type == "cuda"
    torch.set_default_device(None)
    assert not torch.nn.Linear(4, 4).weight.is_cuda
    moved = torch.nn.Linear(4, 4).to("cuda", torch.bfloat16)
    out = moved(torch.randn(2, 4, device="cuda", dtype=torch.bfloat16))
    out.sum().backward()
    assert (out.is_cuda, moved.weight.grad.is_cuda, moved.weight.dtype) == (True, True, torch.bfloat16)


def test_an_array_of_pointers_reaches_the_tensors(gpu):
    x, y = torch.zeros(8, device="cuda"), torch.ones(4, device="cuda")
    pointers = torch.tensor([x.data_ptr() + 16, 5], device="cuda")
    words = torch.tensor([pointers.data_ptr()])
    with torch._C.DisableTorchFunction():
        reached = gpu.reached_from(words.view(torch.uint8).numpy())
        assert [(one.name, one.start) for one in reached] == [("pointers", pointers.data_ptr()), ("x", x.data_ptr())]
        moved = pointers.clone().view(torch.uint8).numpy()
        relocate(moved, [(x.data_ptr(), 32, 4096)])
    assert moved.view("int64").tolist() == [4112, 5]
    address = y.data_ptr()
    del y
    words = torch.tensor([address])
    with torch._C.DisableTorchFunction():
        assert gpu.reached_from(words.view(torch.uint8).numpy()) == []  # it was freed


def test_afterwards_torch_is_as_it_was():
    with stand_in(lambda: StandInGpu("80", lambda report: None)):
        pass
    assert not torch.cuda.is_available()
    assert torch.ones(1).cpu().device.type == "cpu"


@pytest.mark.parametrize(("module", "is_script"), [("triton.runtime.jit", False), ("kernels", True)])
def test_a_launch_is_made_by_the_line_above_the_dsl(tmp_path, module, is_script):
    """Triton may run in a checkout, where its files are not those of an installed package."""
    names = {"__name__": module, "line": line_of_the_script}
    exec(compile("def run(): return line()", str(tmp_path / "jit.py"), "exec"), names)
    assert names["run"]().file == (str(tmp_path / "jit.py") if is_script else __file__)
