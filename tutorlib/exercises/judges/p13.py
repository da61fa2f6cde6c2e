"""What the process of an answer needs of page 13's exercises."""

from tutorlib.checking.part import Filled, HostFunction


def tuned(filled: Filled) -> HostFunction:
    """The GEMM of `kernels.ampere` in its fastest configuration and notebook 12's order, with the answer's part."""
    from tutorlib.kernels.ampere.gemm import in_eights, make_gemm
    from tutorlib.kernels.ampere.main_loops import TUNED, multistage

    return make_gemm(TUNED, **{"main_loop": multistage, "order": in_eights} | filled)
