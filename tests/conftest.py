"""What a test may need of a machine, said by a marker: here alone is it decided what is skipped, and why."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

from tests import trial_course
from tests.sample import CostsPlugin, of_commit, read_costs
from tests.stand_ins import H200
from tutorlib.checking import kernel as kernel_exercises
from tutorlib.compiling import cpp
from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.compiling.cpp import CompiledCpp
from tutorlib.machine import device
from tutorlib.machine.features import MMA_SYNC, TCGEN05, TMA, WGMMA
from tutorlib.measuring import launchers, results
from tutorlib.paths import ROOT
from tutorlib.problems import work

MARKERS = (
    'gpu(capability, calibrated=False): needs a GPU with what came with "80", "90" or "100"; "90a": Hopper alone',
    "samples(variable): needs the checkout of NVIDIA's code that an environment variable names",
    "browser: needs Chromium",
    "long: takes minutes; TUTORLIB_LONG=1 runs it",
)
APART = {  # long, and tests of the same text here share what they made ready; None: each by itself
    "tests/test_notebooks.py": None,
    "tests/pages/test_wrong.py": r"\[(\d+\.\d+)",
    "tests/pages/test_right.py": r"\[(\d+\.\d+)",
}
SAMPLE = "TUTORLIB_SAMPLE"  # environment variable: a commit
FEW = 1500  # tests: who names fewer, by a file or by -k, gets all of their cases
EVERYTHING = "TUTORLIB_LONG"  # environment variable: every case, and every long test
NEEDS = {"80": MMA_SYNC, "90": TMA, "90a": WGMMA, "100": TCGEN05}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# No test compares seconds: an example may take as long as the machine is busy.
hypothesis.settings.register_profile(
    "course",
    deadline=None,
    max_examples=100 if os.environ.get(EVERYTHING) else 60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("course")


@cache
def commit() -> str:
    """Whose sample runs: that of this commit, or of the one that SAMPLE names."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return os.environ.get(SAMPLE) or done.stdout.strip() or "no commit"


def pytest_report_header() -> str:
    return f"sample: {commit()} ({SAMPLE}={commit()} runs the same cases again)"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-costs", action="store_true", help="keep what each test computes in tests/costs.json")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of processes that tests start
    torch.set_num_threads(1)  # sizes are small, and pytest -n 3 has a process for each core and one more
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if config.option.write_costs:
        config.pluginmanager.register(CostsPlugin())
    # One folder for the temporary files of all workers, which xdist may kill before they have deleted theirs
    found = getattr(config, "workerinput", {}).get("temporary")
    tempfile.tempdir = found or tempfile.mkdtemp(prefix="tutor-tests-")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which -p no:xdist leaves out
def pytest_configure_node(node: Any) -> None:
    node.workerinput["temporary"] = tempfile.tempdir


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and tempfile.tempdir:
        shutil.rmtree(tempfile.tempdir, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`pytest -n 3`: a file's tests run in one process, where they share what it made ready, but for those APART."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file not in APART:
                return file
            shared = APART[file] and re.search(APART[file], nodeid)
            return f"{file}::{shared[1]}" if shared else nodeid

    return ByFile(config, log)


@pytest.hookimpl(trylast=True)  # after -k has chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get(EVERYTHING):
        short = [item.nodeid for item in items if not item.get_closest_marker("long")]
        taken = of_commit(short, commit(), read_costs()) if len(items) > FEW else set(short)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in taken])
        items[:] = [item for item in items if item.nodeid in taken]
    items.sort(key=lambda item: "chromium" not in item.fixturenames)  # who waits for a browser begins, and nobody waits


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    for lacks in (lacks_gpu, lacks_samples, lacks_browser):
        if need := lacks(item):
            pytest.skip(f"needs {need}")
    with what_shows_later(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with what_shows_later(item):
        return (yield)


@contextmanager
def what_shows_later(item: pytest.Item) -> Iterator[None]:
    """Skips what only the test's own code finds out: a package that a sample imports."""
    try:
        yield
    except ModuleNotFoundError as error:
        if not item.get_closest_marker("samples"):
            raise
        pytest.skip(f"needs the package {error.name}, for NVIDIA's samples")


def lacks_gpu(item: pytest.Item) -> str | None:
    for marker in item.iter_markers("gpu"):
        if device.why_not(NEEDS[marker.args[0]]):
            return f"a GPU (sm_{marker.args[0]})"
        if marker.kwargs.get("calibrated") and f"sm_{device.need_gpu().arch}" not in results.load_targets():
            return "a calibrated GPU"
    return None


def lacks_samples(item: pytest.Item) -> str | None:
    for marker in item.iter_markers("samples"):
        if marker.args[0] not in os.environ:
            return f"a checkout of NVIDIA's samples ({marker.args[0]})"
    return None


def lacks_browser(item: pytest.Item) -> str | None:
    return "Chromium" if item.get_closest_marker("browser") and not find_browser() else None


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(pytest_report_header())


@pytest.fixture
def chromium() -> str | None:
    """Where it is, for tests marked `browser`."""
    return find_browser()


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this machine one without a GPU, whatever it has."""
    monkeypatch.setattr(device, "gpu", lambda: None)
    monkeypatch.setattr(device, "driver_version", lambda: None)


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the checker queues on a GPU is done at once on this machine; see tests.stand_ins.OnTorch."""
    monkeypatch.setattr(work, "DEVICE", "cpu")
    monkeypatch.setattr(work, "guarded", lambda run, seconds: run())
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)


@pytest.fixture
def cpp_on_torch(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], list]:
    """Puts a function of torch tensors in the place of every loaded Tile C++ kernel; a list of what was loaded."""

    def put(kernel: Callable[..., object]) -> list:
        launches = []

        def load(compiled: CompiledCpp, grid: LaunchGrid, args: Sequence[Any], block: object) -> Callable[[], object]:
            launches.append((compiled.arch, grid, args[-3:]))
            return lambda: kernel(*args)

        monkeypatch.setattr(device, "gpu", lambda: H200)
        monkeypatch.setattr(kernel_exercises, "context_broken", lambda: False)
        monkeypatch.setattr(work, "context_broken", lambda: False)
        monkeypatch.setattr(launchers, "load", load)
        return launches

    return put


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """No C++ was compiled before."""
    cpp.nvcc.cache_clear()
    yield
    cpp.nvcc.cache_clear()


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[None]:
    """A registry with the exercises 90.1, 90.2 and 90.3 of a trial course in place of the course's own."""
    modules = {"p90": trial_course.EXERCISES.format(number=90, count=3)}
    with trial_course.registered(tmp_path / "exercises", modules):
        yield
