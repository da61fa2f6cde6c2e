"""The places in source code that the CuTe DSL's operations carry, replaced while a function is traced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def locations(file: str, line: Callable[[], int]) -> Iterator[None]:
    """Operations that the DSL makes in the block carry this file's name, and the line that `line` returns then.

    `line` is called by a function of this module, which the DSL calls.
    """
    from cutlass._mlir.ir import Location  # type: ignore[attr-defined]  # its stub lacks it
    from cutlass._mlir_helpers.op import loc_transform

    with loc_transform(lambda loc: Location.file(file, line(), 0)):
        yield
