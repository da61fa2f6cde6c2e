"""Wrong answers to notebook 17 that are made of its page's by a change."""

import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tests.pages.solved import changed

NAMES = {
    **{"torch": torch, "cute": cute, "cutlass": cutlass, "from_dlpack": from_dlpack, "os": os},
    **{"CUstream": CUstream, "OrderedDict": OrderedDict, "Lock": Lock, "Path": Path, "tempfile": tempfile},
}


def wrong(id: str, name: str, what: str, old: str, new: str, *words: str) -> Callable:
    return changed(id, NAMES, name, what, old, new, *words)
