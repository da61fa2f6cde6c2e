"""The slots of the Hopper GEMM, which notebook 14's reader fills."""

from collections.abc import Callable
from dataclasses import dataclass

from tutorlib.kernels.hopper import parts


@dataclass(frozen=True)
class Parts:
    """Each is a @cute.jit function with the parameters of the one that fills the slot by default."""

    roles: Callable[..., None] = parts.take_roles
    produce: Callable[..., None] = parts.produce_tiles
    consume: Callable[..., None] = parts.consume_tiles
    store: Callable[..., None] = parts.store_pieces
    load: Callable[..., None] = parts.load_shared
    free: Callable[..., None] = parts.free_stage
    give: Callable[..., None] = parts.give_part
    add: Callable[..., None] = parts.add_part


COURSE = Parts()
