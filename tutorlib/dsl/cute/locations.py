"""The places in source code that the CuTe DSL's operations carry, replaced while a function is traced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def locations(file: str, line: Callable[[], int]) -> Iterator[None]:
    """Operations that the DSL makes in the block carry this file's name, and the line that `line` returns then.

    `line` is called by a function of this module, which the DSL calls. The DSL need not look for a place itself.
    """
    from cutlass._mlir.ir import Location  # type: ignore[attr-defined]  # its stub lacks it
    from cutlass._mlir_helpers import op

    found = mock.patch.object(op, "_get_caller_frame_info", return_value=None)
    with found, op.loc_transform(lambda loc: Location.file(file, line(), 0)):
        yield
