"""A rehearsal as such: actors give orders, others may go first; they wait for mbarriers and elect one of their
lanes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from tutorlib.checking.rehearsing.coroutines import Turns
from tutorlib.checking.rehearsing.mbarrier import MBarrier
from tutorlib.checking.rehearsing.participants import Wait
from tutorlib.checking.rehearsing.plain_python import CallSite, Hazard, calling_line

MOST_ORDERS = 20_000  # a loop that gives more does not end
MOST_TRIES = 1_000  # of a try_wait, with nothing changed meanwhile

Order = Callable[[list[Any]], Any]
Landing = Literal["late", "early", "some"]


class Play:
    """What orders of any kind have in common.

    choose: one of the actors that can go on. landing: of what hardware does by itself: when nobody can go on without,
    as soon as it is ordered, or now and then, as `some` says. changes: how often something has happened.
    """

    choose: Order
    landing: Landing
    some: Callable[[], bool]
    changes: int
    fruitless: int

    def begin(self) -> None:
        self.turns = Turns(self.choose, self.let_land, self.give_up)

    def let_land(self) -> bool:
        """The next part of what has been under way for longest. False where nothing is."""
        raise NotImplementedError

    def give_up(self) -> None:
        """Nobody can go on. Raises Hazard."""
        raise NotImplementedError

    @property
    def me(self) -> Any:
        """Who gives the order."""
        return self.turns.running

    def order(self, ready: Callable[[], bool] = lambda: True, patient: bool = False) -> tuple[Any, CallSite]:
        """Others may go first; then, when it is ready, the order is carried out of those who gave it, in that line."""
        self.turns.wait(ready, patient)
        if self.landing == "some" and self.some():
            self.let_land()
        line = calling_line()
        if self.turns.orders > MOST_ORDERS:
            raise Hazard(f"{line}: the loop does not end.")
        return self.me, line

    def wait(self, barrier: MBarrier, phase: Any) -> None:
        at_once = self.begin_wait(barrier, phase)
        self.order(lambda: barrier.passes(int(phase)))
        self.end_wait(barrier, phase, at_once)

    def try_wait(self, barrier: MBarrier, phase: Any) -> bool:
        """The others go on first; it fails where the phase is not complete then."""
        changes, at_once = self.changes, self.begin_wait(barrier, phase)
        self.order(lambda: barrier.passes(int(phase)) or self.changes > changes, patient=True)
        if barrier.passes(int(phase)):
            self.end_wait(barrier, phase, at_once)
            return True
        self.fruitless = self.fruitless + 1 if self.changes == changes else 0
        if self.fruitless > MOST_TRIES:
            self.give_up()
        return False

    def begin_wait(self, barrier: MBarrier, phase: Any) -> bool:
        """Whether nothing holds it up."""
        me, line = self.me, calling_line()
        if int(phase) not in (0, 1):
            raise Hazard(f"{line}: phase {phase}: a wait is for a parity, 0 or 1.")
        me.held_up = line, f"phase {phase} of {barrier.name}", barrier.name
        return barrier.passes(int(phase))

    def end_wait(self, barrier: MBarrier, phase: Any, at_once: bool) -> None:
        me = self.me
        me.waits[barrier.name] = Wait(calling_line(), int(phase), barrier.complete, at_once)
        me.passed[barrier.name] = me.passed.get(barrier.name, 0) + 1
        me.knows |= barrier.published
        self.changes += 1

    @contextmanager
    def elect_one(self) -> Iterator[None]:
        me = self.me
        outer, me.elected = me.elected, True
        try:
            yield
        finally:
            me.elected = outer
