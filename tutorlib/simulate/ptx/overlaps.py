"""Global memory that several blocks store different values to, or that one loads and another stores.

Blocks run in no order, so either may come first. A kernel that orders its blocks itself, by atomics or fences, is left
alone: that protocol is not modelled.
"""

from collections.abc import Callable

import numpy as np

from tutorlib.failure import Hazard
from tutorlib.simulate.ptx.findings import Findings
from tutorlib.simulate.ptx.geometry import Geometry
from tutorlib.simulate.ptx.memory.arena import Allocation

NO_BLOCK, ATOMIC = 0, -1  # in place of a block's number + 1


class Overlaps:
    """piece: bytes that are watched together. name: a place in the arena as the reader indexes it.

    repeats: where a block stores the value that another has stored: no fault, but done twice.
    """

    def __init__(
        self,
        geometry: Geometry,
        size: int,
        piece: int,
        findings: Findings,
        show: Callable[[int], str],
        name: Callable[[int], str],
    ) -> None:
        self.geometry, self.piece, self.findings, self.show, self.name = geometry, piece, findings, show, name
        self.repeats = Findings()
        self.storer = np.zeros(size // piece + 1, np.int32)  # the block that stored last, + 1
        self.store_site = np.zeros(size // piece + 1, np.int32)

    def before_store(
        self, site: int, blocks: np.ndarray, places: np.ndarray, width: int, changes: Callable[[], np.ndarray]
    ) -> None:
        """changes: for each store, whether its bytes differ from what is there; asked only where it matters."""
        pieces, owners = self.spread(blocks, places, width)
        before = self.storer[pieces]
        foreign = (before != NO_BLOCK) & (before != ATOMIC) & (before != owners)
        if foreign.any():
            self.compare(site, pieces, owners, before, foreign, np.repeat(changes(), max(width // self.piece, 1)))
        self.storer[pieces] = owners
        self.store_site[pieces] = site

    def after_store(
        self, site: int, blocks: np.ndarray, places: np.ndarray, width: int, lost: Callable[[], np.ndarray]
    ) -> None:
        """lost: for each store, whether other bytes than its own are there now: two blocks stored at once."""
        pieces, owners = self.spread(blocks, places, width)
        last = self.storer[pieces]
        foreign = last != owners
        if foreign.any():
            self.compare(site, pieces, owners, last, foreign, np.repeat(lost(), max(width // self.piece, 1)))

    def compare(
        self,
        site: int,
        pieces: np.ndarray,
        owners: np.ndarray,
        others: np.ndarray,
        foreign: np.ndarray,
        differs: np.ndarray,
    ) -> None:
        """Report stores of one block where another stores: another value is a fault, the same one a repetition."""
        if (where := foreign & differs).any():
            at = int(where.argmax())
            self.report(
                site, int(owners[at]) - 1, "stores to", int(pieces[at]), int(others[at]) - 1,
                "stores another value there", where,
            )  # fmt: skip
        if (where := foreign & ~differs).any():
            at = int(where.argmax())
            block, other = (self.geometry.show_block(int(of[at]) - 1) for of in (owners, others))
            element = self.name(int(pieces[at]) * self.piece)
            self.repeats.notice(
                Hazard.REPEAT,
                site,
                lambda: f"block {block} stores {element}, which block {other} stores too",
                int(where.sum()),
            )

    def on_load(self, site: int, blocks: np.ndarray, places: np.ndarray, width: int) -> None:
        pieces, owners = self.spread(blocks, places, width)
        before = self.storer[pieces]
        foreign = (before != NO_BLOCK) & (before != ATOMIC) & (before != owners)
        if foreign.any():
            at = int(foreign.argmax())
            line = self.show(int(self.store_site[pieces[at]]))
            self.report(
                site,
                int(owners[at]) - 1,
                "loads",
                int(pieces[at]),
                int(before[at]) - 1,
                f"stores it at {line}",
                foreign,
            )

    def on_atomic(self, places: np.ndarray, width: int) -> None:
        self.storer[places // self.piece] = ATOMIC

    def report(self, site: int, block: int, does: str, piece: int, other: int, also: str, where: np.ndarray) -> None:
        show = self.geometry.show_block
        self.findings.notice(
            Hazard.OVERLAP,
            site,
            lambda: (
                f"block {show(block)} {does} {self.name(piece * self.piece)}, and block {show(other)} {also}: "
                "either may come first"
            ),
            int(where.sum()),
        )

    def storers(self, allocation: Allocation) -> np.ndarray:
        """For each element, the block that stored it last, -1 where none did."""
        first, last = allocation.start // self.piece, -(-allocation.end // self.piece)
        by_byte = np.repeat(self.storer[first:last], self.piece)[allocation.start - first * self.piece :]
        return by_byte[: allocation.size : allocation.width] - 1

    def spread(self, blocks: np.ndarray, places: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        many = max(width // self.piece, 1)
        pieces = places // self.piece
        if many == 1:
            return pieces, blocks + 1
        return (pieces[:, None] + np.arange(many)).reshape(-1), np.repeat(blocks + 1, many)
