"""The interpreter's own exceptions."""

from tutorlib.simulate.ptx.errors import NotSimulated as NotSimulated


class KernelAssertion(AssertionError):
    """A ct.assert_ of the kernel does not hold."""
