"""tutorlib: the helper package of the course. A notebook needs `check` and `hint`; the rest is imported by name."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tutorlib import half_precision

if TYPE_CHECKING:
    from tutorlib.notebook.check import CheckFailed, check, hint
    from tutorlib.notebook.explain import explain

__all__ = ["CheckFailed", "check", "explain", "hint"]

half_precision.install()


def __getattr__(name: str) -> Any:
    """A name that notebooks need, imported when it is first used: the command line needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tutorlib.notebook." + ("explain" if name == "explain" else "check")), name)
