"""Hazards in the instructions of a rehearsed function."""

from tutorlib.failure import FailureKind, Fault, Flaw


class Unsafe(Exception):
    """The instructions allow a wrong result. The message, a Flaw, says which, for the reader."""

    def __init__(self, words: str, *failures: Fault | FailureKind) -> None:
        super().__init__(Flaw(words, *failures) if failures else words)


class LoopFlaw(FailureKind):
    """Kinds of failure in a rehearsal; the fields in brackets.

    What is used: EMPTY: nothing was loaded there; UNCOMMITTED, UNWAITED: the copies; UNSEEN: other threads' copies, by
    no barrier; MIXED: two K tiles; NOT_FETCHED: registers; NOT_SUMMED: an accumulator; NOT_LANDED: a stage; BYTES: a
    phase was complete before all bytes were there; NOT_READ: registers of a tcgen05.ld.
    What is overwritten: OVERWRITTEN [what: "being read", "needed", "loading"]; SUMS: of an accumulator.
    WAIT: for an mbarrier, it does not help [barrier: "full", "empty", "ready" or "free"; why: "missing", "early": it
    was for an earlier phase, or "incomplete": the phase ended too early].
    DEADLOCK: an endless wait [barrier, at, block, phase; who; lacks: the first words of what it lacks; of: "bytes" or
    "arrivals"]; TOO_OFTEN: an arrival [barrier]; UNEXPECTED: bytes; LOADED [tiles: "1 of 3"]: how far it came.
    What is done twice, or never: TWICE, LOADED_TWICE, MISSING, UNWRITTEN; FIRST [given: "never", "again"].
    Who does it: ELECTED: one lane, where a warp must; ALL_LANES: a warp, where one lane must; ROLE: another role;
    LEADER: the block that does not lead; AT_ONCE: a thread arrives in place of a commit; COMMIT: of the other kind.
    PARITY: a wait is for none; FENCE: warpgroup.fence() or tcgen05's is missing; ENDLESS; UNROLLED: for all K tiles.
    OUT_OF_RANGE; WRITTEN_AS [part, tile]: a part of the accumulators at another's place; FREED: an accumulator, too
    early. What is safe and too slow: IDLE, PREFETCH, BARRIERS, FREED_LATE.
    """

    EMPTY = "nothing loaded"
    UNCOMMITTED = "copies not committed"
    UNWAITED = "copies not waited for"
    UNSEEN = "no barrier after the wait"
    MIXED = "two K tiles"
    NOT_FETCHED = "not fetched"
    NOT_SUMMED = "not summed"
    NOT_LANDED = "not landed"
    BYTES = "bytes"
    NOT_READ = "not read"
    OVERWRITTEN = "overwritten"
    SUMS = "accumulator overwritten"
    WAIT = "wait"
    DEADLOCK = "waits forever"
    TOO_OFTEN = "arrives too often"
    UNEXPECTED = "unexpected bytes"
    LOADED = "loaded"
    TWICE = "multiplied twice"
    LOADED_TWICE = "loaded twice"
    MISSING = "never multiplied"
    UNWRITTEN = "never written"
    FIRST = "first"
    ELECTED = "one lane"
    ALL_LANES = "all lanes"
    ROLE = "another role"
    LEADER = "not the leader"
    AT_ONCE = "arrives at once"
    COMMIT = "commit of the other kind"
    PARITY = "no parity"
    FENCE = "no fence"
    ENDLESS = "loop without an end"
    UNROLLED = "unrolled"
    OUT_OF_RANGE = "out of range"
    WRITTEN_AS = "written as"
    FREED = "freed too early"
    IDLE = "idle"
    PREFETCH = "no prefetch"
    BARRIERS = "barriers"
    FREED_LATE = "freed late"
