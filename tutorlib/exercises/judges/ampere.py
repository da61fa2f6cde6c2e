"""Where answers of pages 10, 11 and 13 go: the GEMM of `kernels.ampere` around an answer that is one of its parts."""

from typing import TYPE_CHECKING, Any

from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Filled, HostFunction

if TYPE_CHECKING:
    from tutorlib.models.l2 import Order

COURSE_LOOPS = of_course("ampere.main_loops", "single_buffer", "multistage")


def ampere(filled: Filled, order: "Order | None" = None, **settings: Any) -> HostFunction:
    """The GEMM with the answer's parts: the course's main loop for this number of stages, unless it is one of them.

    settings: of GemmConfig.
    """
    from tutorlib.kernels.ampere.config import GemmConfig
    from tutorlib.kernels.ampere.gemm import make_gemm
    from tutorlib.kernels.ampere.main_loops import multistage, single_buffer
    from tutorlib.models.l2 import raster

    config = GemmConfig(**settings)
    loop = single_buffer if config.stages == 1 else multistage
    return make_gemm(config, **{"main_loop": loop, "order": order or raster} | filled)
