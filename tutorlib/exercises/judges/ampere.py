"""Where answers of pages 10, 11 and 13 go: the GEMM of `kernels.ampere` around an answer that is one of its parts."""

from typing import TYPE_CHECKING, Any

from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Filled, HostFunction

if TYPE_CHECKING:
    from tutorlib.models.l2 import Order

COURSE_LOOPS = of_course("ampere.main_loops", "single_buffer", "multistage", "loads_spread")


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


def ampere_in_groups(filled: Filled, **settings: Any) -> HostFunction:
    """The one whose blocks take tiles in groups, not row after row."""
    from tutorlib.models.l2 import grouped

    return ampere(filled, grouped, **settings)


def ampere_method(filled: Filled, **settings: Any) -> HostFunction:
    """The one with the answer's `load`, or `fetch` and `multiply`, and two buffers; it fetches one K block ahead."""
    from tutorlib.kernels.ampere.thread_share import GlobalToShared, Steps

    part, base = ("copies", GlobalToShared) if "load" in filled else ("steps", Steps)
    return ampere({part: type(base.__name__, (base,), filled)}, **{"stages": 2} | settings)
