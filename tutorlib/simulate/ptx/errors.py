"""The simulator's own exceptions."""


class NotSimulated(NotImplementedError):
    """The simulator lacks something. The message names it and where it stands."""

    def __init__(self, what: str, line: int = 0) -> None:
        at = f" (line {line} of the PTX)" if line else ""
        super().__init__(f"{what} is not simulated{at}: this kernel needs a GPU")


class TooManyRecords(NotSimulated):
    """What the simulator would have to remember exceeds its limit. The message says what size to choose."""

    def __init__(self, what: str) -> None:
        NotImplementedError.__init__(self, what)


class CannotLaunch(ValueError):
    """No GPU takes this launch. The message says why, as the end of a sentence."""


class MalformedPtx(ValueError):
    """The text is not the PTX that a compiler writes."""
