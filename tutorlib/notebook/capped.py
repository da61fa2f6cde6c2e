"""Limits on a cell's output while it is graded: nbval stores all of it and compares it line by line."""

from typing import Any

from ipykernel.iostream import OutStream
from ipykernel.zmqshell import ZMQInteractiveShell

from tutorlib.notebook.check import Printed

TEXT = Printed.LIMIT  # characters a cell may print
SHOWN = 2**24  # characters a cell may display: a figure, as base64, has some 2**17


class CappedStream(OutStream):
    """stdout or stderr of the kernel."""

    written = 0

    def set_parent(self, parent: dict) -> None:
        """Start counting for a new cell."""
        super().set_parent(parent)
        self.written = 0

    def write(self, string: str) -> int:
        if (room := TEXT - self.written) >= 0:
            super().write(string if len(string) <= room else f"{string[:room]}{Printed.DROPPED}\n")
        self.written += len(string)
        return len(string)


def cap_displays(shell: ZMQInteractiveShell) -> None:
    """Drop what a cell of a kernel displays beyond SHOWN characters."""
    shown = 0

    def new_cell(*_: Any) -> None:
        nonlocal shown
        shown = 0

    def drop_more(message: dict) -> dict | None:
        nonlocal shown
        shown += sum(len(str(data)) for data in message["content"].get("data", {}).values())  # clear_output has none
        return message if shown <= SHOWN else None

    shell.events.register("pre_run_cell", new_cell)
    shell.display_pub.register_hook(drop_more)  # type: ignore[attr-defined]  # it is ipykernel's, not IPython's
