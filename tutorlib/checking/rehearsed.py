"""Rehearsals of an answer, by itself and on any machine, before it becomes part of a kernel."""

from collections.abc import Callable, Iterable

from tutorlib.checking.exercise import Verdict
from tutorlib.checking.kernel_questions import NotRehearsed
from tutorlib.checking.rehearsing.machine import RehearsalMachine
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.compiling.errors import shortened, without_colours
from tutorlib.failure import Flaw, failures_in


def first_weakness(rehearsals: Iterable[tuple[str, Callable[[], str]]], safe: float = 0) -> Verdict | None:
    """The verdict of the first unsafe rehearsal, else of the first with a weakness. Each comes with its description.

    A rehearsal returns a safe loop's weakness, or "", and raises Unsafe. safe: the points of a loop that is safe in all
    of them. Raises NotRehearsed.
    """
    first: Verdict | None = None
    for said, rehearsal in rehearsals:
        try:
            weakness = rehearsal()
        except Unsafe as unsafe:
            return Verdict(0, (f"rehearsed with {said}:", *told_lines(unsafe.args[0])))
        except NotImplementedError:
            raise
        except Exception as error:
            said = " ".join(without_colours(f"{type(error).__name__}: {error}").split())
            raise NotRehearsed(shortened(said)) from error
        if weakness:
            first = first or Verdict(safe, (f"rehearsed with {said}:", *told_lines(weakness)))
    return first


def told_lines(told: str) -> list[str]:
    """The lines of a Flaw; the first keeps its kinds."""
    first, *others = told.split("\n")
    return [Flaw(first, *failures_in([told])), *others]


def waits_again(played: RehearsalMachine) -> str:
    """A second wait for a phase, or ""."""
    if played.repeated is None:
        return ""
    return Flaw(
        f"it is safe, but {played.repeated} waits for a phase that the same warp has already waited for. One wait "
        "covers all that follows in the phase.",
        LoopFlaw.BARRIERS,
    )
