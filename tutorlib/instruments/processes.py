"""Measurements in processes of their own: python -m tutorlib.instruments MODULE FUNCTION ARGUMENT …"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tutorlib.paths import ROOT


class Failed(Exception):
    """A measurement is not possible here, or its process ended with an error. One line."""


def command_of(function: Callable[..., Any], *arguments: str) -> list[str]:
    """The command that calls a function of a module of this folder, and prints its result as JSON."""
    module = function.__module__.removeprefix(f"{__package__}.")
    return [sys.executable, "-m", __package__, module, function.__name__, *arguments]


def in_a_process(function: Callable[..., Any], *arguments: str, **variables: str) -> Any:
    """The function's result in a new process with these environment variables. Raises Failed."""
    command = command_of(function, *arguments)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | variables)
    if done.returncode:
        raise Failed(f"{function.__name__}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])
