"""What a launch needs besides a kernel and its arguments."""

from dataclasses import dataclass

LaunchGrid = tuple[int, ...]  # how many blocks along x, y and z


@dataclass(frozen=True)
class LaunchConfig:
    """A launch's configuration. block: threads of a block; a tile block counts as one.

    dynamic_smem: bytes. cluster: blocks of a cluster. cooperative: all blocks must run at once. overlapping: it may
    begin before the launch ahead of it has ended.
    """

    grid: LaunchGrid
    block: LaunchGrid = (1,)
    dynamic_smem: int = 0
    cluster: LaunchGrid = (1,)
    cooperative: bool = False
    overlapping: bool = False
