"""Runs a kernel so that a failure on the GPU becomes one line, and never a hang."""

import re
import textwrap
import time
from collections.abc import Callable
from typing import Literal

RESTART = "The CUDA context is broken: restart the kernel (Kernel → Restart Kernel) and run the page again."

NOT_LAUNCHED = "it could not be launched: "
# The driver's name of an error → its meaning to the reader.
MEANING = {
    "illegal memory access": "it read or wrote outside its tensors (illegal memory access).",
    "misaligned address": "it used an address that the access's width does not divide (misaligned address).",
    "illegal instruction": "it ran an instruction that this GPU does not have (illegal instruction).",
    "unspecified launch failure": "it crashed (unspecified launch failure).",
    "device-side assert": "an assertion in it failed.",
    "too many resources": "a block asks for more registers than an SM has.",
    "out of memory": "the GPU has too little free memory for this check. Does another program use it?",
}

_endless: list[Callable[[], None]] = []  # kept forever: freeing a kernel that still runs would wait for its end
_broken = False  # this process's CUDA context is beyond repair: only a new process has a new one


class KernelFault(Exception):
    """The kernel crashed, hung or could not be launched. One line, and one more where its cause is known."""

    def __init__(self, message: str, status: Literal["failed", "error", "timeout"] = "error") -> None:
        super().__init__(message)
        self.status = status


def context_broken() -> bool:
    """Whether an earlier kernel left this process's CUDA context unusable."""
    global _broken
    if not _broken:
        import torch

        try:
            torch.cuda.synchronize()
        except RuntimeError:  # torch.AcceleratorError: an error that stays
            _broken = True
    return _broken


def guarded(run: Callable[[], None], seconds: float) -> None:
    """Call `run`, which puts work on the GPU, and wait for all of it. Raises KernelFault.

    seconds: how long the GPU may take. A kernel that runs on cannot be stopped, so the context counts as broken then.
    """
    global _broken
    import torch

    done = torch.cuda.Event()
    try:
        run()
        done.record()
        deadline = time.monotonic() + seconds
        while not done.query():
            if time.monotonic() > deadline:
                _broken = True
                _endless.append(run)
                raise KernelFault(
                    f"it is still running after {seconds:g} s: does a loop never end? {RESTART}", "timeout"
                )
            time.sleep(0.0002)
        torch.cuda.synchronize()  # work on other streams, too
    except (KernelFault, NotImplementedError):
        raise
    except Exception as error:
        raise fault(error) from error


def fault(error: Exception) -> KernelFault:
    """The error of a launch or of the GPU in one line, and whether the context survived it."""
    text = textwrap.shorten(re.sub(r"\x1b\[[\d;]*m", "", str(error)), 200, placeholder=" …")
    meaning = next((says for name, says in MEANING.items() if name in text.lower()), "")
    if context_broken():
        return KernelFault(f"{meaning or text} {RESTART}")
    if "out of memory" in text.lower():
        return KernelFault(meaning)
    return KernelFault(meaning or NOT_LAUNCHED + text, "failed")
