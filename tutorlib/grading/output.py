"""The kernel's stdout and stderr while grading: a cell may print so much and no more."""

from ipykernel.iostream import OutStream

LIMIT = 2**16  # characters for each cell; nbval compares outputs line by line, which is slow for long ones


class TooMuchOutput(Exception):
    """Comes out of the answer's own print, so that it fails as any other exception of the answer does."""


class CappedStream(OutStream):
    written = 0

    def set_parent(self, parent: dict) -> None:
        """A new cell starts."""
        super().set_parent(parent)
        self.written = 0

    def write(self, string: str) -> int | None:
        if self.written > LIMIT:
            raise TooMuchOutput(f"it prints more than {LIMIT // 1024} kB")
        self.written += len(string)
        return super().write(string[: LIMIT + 1])
