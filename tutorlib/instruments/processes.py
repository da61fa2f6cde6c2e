"""Measurements in processes of their own: python -m tutorlib.instruments.processes MODULE FUNCTION ARGUMENT …"""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tutorlib.paths import ROOT


class Failed(Exception):
    """A measurement is not possible here, or its process ended with an error. One line."""


def command_of(function: Callable[..., Any], *arguments: str) -> list[str]:
    """The command that calls a function of a module, and prints its result as JSON."""
    return [sys.executable, "-m", "tutorlib.instruments.processes", function.__module__, function.__name__, *arguments]


def in_a_process(function: Callable[..., Any], *arguments: str) -> Any:
    """The function's result in a new process. Raises Failed."""
    command = command_of(function, *arguments)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{function.__name__}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    module, name, *arguments = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(*arguments)))
