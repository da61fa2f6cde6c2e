"""Entering the stand-in: each library is taken over where it is loaded, or when the script imports it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tutorlib.dsl.after_import import AfterImport

if TYPE_CHECKING:
    from tutorlib.simulate.stand_in.gpu import StandInGpu

LIBRARIES = {  # the module here, and its function, that takes the library over
    "torch": ("torch_cuda", "torch_on"),
    "cutlass": ("cute", "cute_on"),
    "cuda.tile": ("cutile", "cutile_on"),
    "triton": ("triton", "triton_on"),
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
