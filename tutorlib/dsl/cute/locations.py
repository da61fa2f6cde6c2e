"""The places in source code that the CuTe DSL's operations carry, replaced while a function is traced."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def locations(file: str, line: Callable[[], int]) -> Iterator[None]:
    """Operations that the DSL makes in the block carry this file's name, and the line that `line` returns then.

    `line` is called by a function of this module, which the DSL calls. What an operation is made of inherits its place.
    """
    import cutlass
    from cutlass._mlir.ir import Location  # type: ignore[attr-defined]  # its stub lacks it
    from cutlass._mlir_helpers import op

    package = str(Path(cutlass.__file__ or "").parent)
    made: dict[int, Location] = {}  # by their ids

    def place(given: Location | None) -> Location:
        if id(given) in made and sys._getframe(3).f_code.co_filename.startswith(package):
            return given
        new = Location.file(file, line(), 0)
        made[id(new)] = new
        return new

    def nowhere(*given: object, **named: object) -> None:
        """The DSL need not look for a place itself. A plain function: libraries make keys of what kernels name."""

    with mock.patch.object(op, "_get_caller_frame_info", nowhere), op.loc_transform(place):
        yield
