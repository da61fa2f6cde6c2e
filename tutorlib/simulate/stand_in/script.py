"""`tutor simulate -- COMMAND`: an unchanged script finds the stand-in GPU, in every Python process that it starts. Each
library is taken over where it is loaded, or when the script imports it.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tutorlib.dsl.launching import AfterImport

if TYPE_CHECKING:
    from tutorlib.simulate.ptx.report import Report
    from tutorlib.simulate.stand_in.gpu import StandInGpu


LIBRARIES = {  # the module here, and its function, that takes the library over
    "torch": ("torch_cuda", "torch_on"),
    "cutlass": ("dsls", "cute_on"),
    "cuda.tile": ("tiles", "cutile_on"),
    "triton": ("dsls", "triton_on"),
}


@contextmanager
def stand_in(gpu: "Callable[[], StandInGpu]") -> Iterator[None]:
    """In the block, this GPU seems to be there. gpu: called when the first of the libraries is used."""
    with ExitStack() as stack:

        def enter(library: str) -> None:
            import_module("torch")  # is taken over first: the others' modules here import it, too
            module, function = LIBRARIES[library]
            stack.enter_context(getattr(import_module(f"{__package__}.{module}"), function)(gpu()))

        finder = AfterImport({library: partial(enter, library) for library in LIBRARIES})
        for library in [library for library in LIBRARIES if library in sys.modules]:
            finder.then.pop(library)()
        sys.meta_path.insert(0, finder)
        stack.callback(sys.meta_path.remove, finder)
        yield


VARIABLE = "TUTORLIB_STAND_IN"  # settings of `run_script`, and the file that processes add launches to
START = Path(__file__).with_name("start")
ENTERED = ExitStack()  # until the process ends


def run_script(command: Sequence[str], arch: str, quiet: bool = False) -> "tuple[tuple[Report, ...], int]":
    """Run a command whose Python processes find the stand-in: the launches, in the order in which they ended, and the
    command's status, or minus the signal that ended it.

    quiet: its output goes to stderr.
    Raises FileNotFoundError and PermissionError where there is no such command.
    """
    with tempfile.TemporaryDirectory() as folder:
        launches = Path(folder) / "launches"
        launches.touch()
        settings = {"arch": arch, "launches": str(launches)}
        paths = {
            "PYTHONPATH": [str(START), *filter(None, [os.environ.get("PYTHONPATH")])],
            "PATH": [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)],
        }
        environment = os.environ | {name: os.pathsep.join(parts) for name, parts in paths.items()}
        environment[VARIABLE] = json.dumps(settings)
        environment.pop("PYTEST_CURRENT_TEST", None)
        program = [*command] if os.sep in command[0] else ["env", *command]
        with subprocess.Popen(program, env=environment, stdout=2 if quiet else None) as running:
            import_module("tutorlib.simulate.report")  # meanwhile: NumPy takes a moment
        return tuple(read_launches(launches)), running.returncode


def read_launches(file: Path) -> "Iterator[Report]":
    with file.open("rb") as source:
        while source.peek(1):
            try:
                yield pickle.load(source)
            except EOFError:  # the process ended meanwhile
                return


def enter() -> None:
    """In a process of the command: until it ends, the stand-in is there."""
    settings = json.loads(os.environ[VARIABLE])

    def took(report: "Report") -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        with open(settings["launches"], "ab", buffering=0) as file:
            file.write(pickle.dumps(replace(report, storers={}, test=test)))

    @cache
    def gpu() -> "StandInGpu":
        from tutorlib.simulate.stand_in.gpu import StandInGpu

        return StandInGpu(settings["arch"], took)

    ENTERED.enter_context(stand_in(gpu))
