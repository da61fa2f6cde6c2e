"""Remedies of notebook 05."""

from tutorlib.checking.exercise import Remedy
from tutorlib.dsl.refusals import RefusalKind
from tutorlib.failure import Difference, Fail, Hazard

COPY_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "05.1": (
        Remedy(Fail.GIVES(type="set"), "Return the number of sectors: the len of that set."),
        Remedy(
            Fail.CASE(name="threads along a row"),
            "Write down the bytes of three threads: thread n touches the bytes from offset · size on. In which "
            "sectors of 32 bytes are they, each counted once?",
        ),
        Remedy(
            Fail.CASE(name="threads down a column"),
            "Only sectors that some thread touches are moved: those between two threads' rows are not.",
        ),
        Remedy(
            Fail.CASE(name="vectors"),
            "A thread touches `vector` consecutive elements of `element_bytes` bytes: in which sector is the "
            "last of these bytes?",
        ),
        Remedy(
            Fail.CASE(name="elements across an edge"),
            "An access may span several sectors: all from the first byte's sector to the last byte's.",
        ),
    ),
    "05.2": (
        Remedy(
            Hazard.OUTSIDE,
            "Tiles extend past the edges: row < rows and column < columns must both hold before the access.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"), "Which lines store to dst? Before the kernel runs, it is full of NaN."
        ),
        Remedy(
            (Difference.WRONG(along="column"), Difference.UNWRITTEN(along="column")),
            "A tile has 64 columns: n runs over all of them, and the block's first is across * TILE[1].",
        ),
        Remedy(
            (Difference.WRONG(along="row"), Difference.UNWRITTEN(along="row")),
            "A tile has 128 rows, one for each thread: the block's first is down * TILE[0]. And are rows compared "
            "with rows?",
        ),
    ),
    "05.3": (
        Remedy(
            Hazard.OUTSIDE,
            "Tiles extend past the edges: row < rows and column < columns must both hold before the access.",
        ),
        Remedy(Fail.WASTE(space="global"), "Give neighboring threads neighboring columns: thread % TILE[1]."),
        Remedy(
            Difference.UNWRITTEN(share="all"), "Which lines store to dst? Before the kernel runs, it is full of NaN."
        ),
        Remedy(
            (Difference.WRONG(along="row"), Difference.UNWRITTEN(along="row")),
            "128 threads are two rows of 64: thread // TILE[1] is 0 or 1, and the loop runs from 0 to TILE[0] "
            "in steps of 2 rows.",
        ),
        Remedy(
            (Difference.WRONG(along="column"), Difference.UNWRITTEN(along="column")),
            "The column is across * TILE[1] + thread % TILE[1].",
        ),
    ),
    "05.4": (
        Remedy(
            Fail.WASTE(space="lines"),
            "Neighboring threads take neighboring vectors of a row: in `threads`, a step along the row has stride 1.",
        ),
        Remedy(
            Fail.LACKS(instruction="st.global.v4"),
            "Two copies of 128 bits per access: from_src to registers, registers to to_dst. The compiler "
            "removes loads whose values are never stored.",
        ),
        Remedy(Hazard.OUTSIDE, "pred=mask belongs to both copies: the one that loads and the one that stores."),
        Remedy(
            Fail.USES(instruction="ld.global after st.global"),
            "All loads come before the first store: one cute.copy from from_src to registers, and one from there to "
            "to_dst.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"),
            "dst is full of NaN until something is copied to to_dst: which tensor is the target of the second copy?",
        ),
        Remedy(
            Difference.UNWRITTEN,
            "The block has WIDE_THREADS threads, and each has a part of its own: tiled.get_slice(thread).",
        ),
        Remedy(
            RefusalKind.RANKS,
            "from_src, to_dst, and registers made like one of them, are this thread's parts: three modes each.",
        ),
    ),
    "05.5": (
        Remedy(
            Fail.LACKS(instruction="st.global.v4"),
            "After the barrier come two copies: the tile to registers, and registers to dst.",
        ),
        Remedy(
            Fail.LACKS(instruction="cp.async"),
            "First comes one copy with `load`, from src's tile to the tile in shared memory.",
        ),
        Remedy(
            Fail.LACKS(instruction="ld.shared"),
            "Read the elements that you store from the tile: stores.partition_S(tile).",
        ),
        Remedy(
            Hazard.UNWAITED(lacks="commit"),
            "cp_async_commit_group makes the copies issued so far a group, and a wait covers committed groups only.",
        ),
        Remedy(
            Hazard.UNWAITED(lacks="wait"),
            "Every thread executes wait_group(0) after the commit and before it reads the tile: 0 is the number "
            "of groups that may still be in flight.",
        ),
        Remedy(
            Hazard.RACE(earlier="write"),
            "A wait covers a thread's own copies. Those of other threads have arrived after a barrier that "
            "follows the wait.",
        ),
        Remedy(Difference.UNWRITTEN(share="all"), "Which tensor does the last copy write to?"),
    ),
    "05.6": (
        Remedy(
            Fail.LACKS(instruction="st.shared"),
            "Take the data through the tile: registers to mine.partition_D(tile), mine.partition_S(turned) to "
            "registers.",
        ),
        Remedy(
            Fail.LACKS(instruction="ld.shared"),
            "Read the elements that you store to dst from shared memory: mine.partition_S(turned) to registers.",
        ),
        Remedy(
            Hazard.RACE(earlier="write"), "All threads write the tile, then sync_threads(), then they read it turned."
        ),
        Remedy(
            Difference.WRONG(got="3", want="7"),
            "dst[0, 1] looks like src[0, 1], as if nothing was turned: which of the two layouts in shared memory "
            "makes rows of columns?",
        ),
        Remedy(
            Hazard.RACE(earlier="store"),
            "A row of the tile has TURN elements: with a smaller stride from row to row, rows overlap.",
        ),
    ),
    "05.7": (
        Remedy(
            Fail.WASTE(space="shared"),
            "32 rows of a column need 32 banks: XOR five bits of the row into the five lowest bits of the "
            "offset. At which bit does the row begin if a row has 64 elements?",
        ),
        Remedy(
            Difference.WRONG(got="10", want="7"),
            "Write and read through the same swizzle: compose it with the tile's layout and with the turned one.",
        ),
        Remedy(
            Difference.WRONG(got="3", want="7"),
            "dst[0, 1] looks like src[0, 1], as if nothing was turned: which of the two layouts in shared memory "
            "makes rows of columns?",
        ),
    ),
    "05.8": (
        Remedy(
            Fail.LACKS(instruction="cp.async.bulk.tensor"),
            "cute.copy(load, …, tma_bar_ptr=barrier) loads the tile, and cute.copy(store, …) stores it.",
        ),
        Remedy(
            Fail.LACKS(instruction="mbarrier"),
            "cute.copy only issues the load. One thread announces the bytes to the mbarrier, and all wait for "
            "its phase 0.",
        ),
        Remedy(
            Fail.LACKS(instruction="fence.mbarrier_init"),
            "TMA signals the mbarrier: mbarrier_init_fence() makes it visible to TMA before the load is issued.",
        ),
        Remedy(Hazard.MBARRIER(lacks="bytes"), "Announce the bytes that the load delivers: tile_bytes, once."),
        Remedy(
            Hazard.UNWAITED(lacks="mbarrier"),
            "One thread announces tile_bytes and arrives; then all wait for phase 0, before the tile is used.",
        ),
        Remedy(Hazard.MBARRIER(lacks="init"), "mbarrier_init comes first, by one thread."),
        Remedy(
            Hazard.DEADLOCK(lacks="arrivals"),
            "The number of threads that arrive must equal the count given to mbarrier_init: one.",
        ),
        Remedy(
            Hazard.DEADLOCK(lacks="bytes"),
            "The announced bytes must equal the loaded ones: one thread announces tile_bytes, once, for one load.",
        ),
        Remedy(
            (Hazard.RACE(earlier="write"), Hazard.RACE(earlier="init")),
            "Launch one warp, and put sync_warp() between the initialization of the mbarrier and its use.",
        ),
        Remedy(
            Hazard.UNWAITED(lacks="stored"),
            "After the store: commit the bulk group, then wait for 0 groups, before the block ends.",
        ),
        Remedy(
            Hazard.DIVERGENT(lanes="elsewhere"),
            "cute.copy with TMA elects a thread by itself: call it outside of elect_one.",
        ),
        Remedy(Difference.UNWRITTEN(share="all"), "The store is missing: cute.copy(store, from_tile, to_dst)."),
    ),
}
