"""cutlass.pipeline.PipelineState on numbers of Python."""

from typing import Any


def move(state: Any, count: Any) -> None:
    """Advance a state by n stages."""
    rounds, state._index = divmod(int(state._index) + int(count), state._stages)
    state._phase = int(state._phase) ^ (rounds & 1)
    state._count = int(state._count) + int(count)


def clone_of(state: Any) -> Any:
    return type(state)(state._stages, state._count, state._index, state._phase)


PLAIN_STATE: dict[str, Any] = {
    "index": property(lambda state: int(state._index)),
    "count": property(lambda state: int(state._count)),
    "phase": property(lambda state: int(state._phase)),
    "clone": clone_of,
    "advance": lambda state, count=1: move(state, count),
    "reverse": lambda state: move(state, -1),
}
