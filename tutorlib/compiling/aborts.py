"""What ends the process inside the DSL's C++, where no Python could catch it, refused with a sentence instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


@contextmanager
def no_abort() -> Iterator[None]:
    """Meanwhile `retile` raises ValueError for what has fewer than 3 modes: CuTe 4.8 calls std::terminate for it."""
    from cutlass import cute
    from cutlass.cute.atom import ThrCopy

    retile = ThrCopy.retile

    def checked(copy: Any, registers: cute.Tensor, **where: Any) -> cute.Tensor:
        if (rank := cute.rank(registers)) < 3:
            raise ValueError(
                f"retile of a tensor with {rank} modes, {registers.layout}: it takes (values, atoms, K blocks), all "
                "three of them"
            )
        return retile(copy, registers, **where)

    with mock.patch.object(ThrCopy, "retile", checked):
        yield
