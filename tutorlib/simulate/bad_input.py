"""What is wrong on the command line, said in one line."""

import re

from tutorlib.compiling.errors import without_colours


class BadInput(ValueError):
    """Something on the command line is wrong. One line, which says what to write instead."""


def parse_arch(text: str) -> str:
    """ "90a", or "sm_90a". Raises BadInput."""
    arch = text.removeprefix("sm_")
    if not re.fullmatch(r"\d{2,3}[af]?", arch):
        raise BadInput(f"--arch {text}: a compute capability is 80 (Ampere), 90a (Hopper) or 100a (Blackwell)")
    return arch


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {without_colours(str(error))}".split())
