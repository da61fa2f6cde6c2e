"""Calls a function of a module of this folder, and prints its result: see `processes`."""

import json
import sys
from importlib import import_module

module, function, *arguments = sys.argv[1:]
print(json.dumps(getattr(import_module(f"tutorlib.instruments.{module}"), function)(*arguments)))
