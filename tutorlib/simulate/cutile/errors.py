"""The interpreter's own exceptions."""


class NotSimulated(NotImplementedError):
    """The interpreter lacks something of cuTile's. The message names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not simulated: this kernel needs a GPU")


class KernelAssertion(AssertionError):
    """A ct.assert_ of the kernel does not hold."""
