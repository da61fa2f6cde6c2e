"""What the process of an answer needs of page 13's exercises."""

from collections.abc import Sequence

from tutorlib.checking.part import Filled, HostFunction
from tutorlib.failure import FailureKind, Flaw
from tutorlib.simulate.ptx.report import Report


def tuned(filled: Filled) -> HostFunction:
    """The GEMM of `kernels.ampere` in its fastest configuration and notebook 12's order, with the answer's part."""
    from tutorlib.kernels.ampere.gemm import in_eights, make_gemm
    from tutorlib.kernels.ampere.main_loops import TUNED, multistage

    return make_gemm(TUNED, **{"main_loop": multistage, "order": in_eights} | filled)


class OrderInStep(FailureKind):
    """An omission of a main loop whose result is right."""

    IN_FRONT = "copies in front"


STEP = {"ldmatrix": "R", "cp.async.c": "C", "bar.sync": "|"}


def fetched_first(reports: Sequence[Report]) -> str | None:
    """That the code of the loop, what a warp issues more than once, has not all cp.async between the first ldmatrix and
    the barrier.
    """
    for report in reports:
        loop = (one.opcode for one in report.issued if one.warps > report.warps)
        code = "".join(letter for opcode in loop for begins, letter in STEP.items() if opcode.startswith(begins))
        step = code[code.find("R") : code.rfind("|")]
        if not code.count("C") == step.count("C") > 0:
            what = "a step does not issue all of its cp.async between its first ldmatrix and its barrier."
            return Flaw(what, OrderInStep.IN_FRONT)
    return None
