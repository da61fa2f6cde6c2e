"""Remedies of notebook 05."""

from tutorlib.checking.exercise import Remedy
from tutorlib.dsl.refusal import RefusalKind
from tutorlib.failure import Difference, Fail, Hazard

COPY_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "05.1": (
        Remedy(Fail.GIVES(type="set"), "How many sectors is asked for: the len of that set."),
        Remedy(
            Fail.CASE(name="threads along a row"),
            "Write the bytes down for three threads: thread n touches the bytes from offset · size on. Which "
            "sectors of 32 bytes are these, each counted once?",
        ),
        Remedy(
            Fail.CASE(name="threads down a column"),
            "Only sectors that some thread touches come: those between two threads' rows do not.",
        ),
        Remedy(
            Fail.CASE(name="vectors"),
            "A thread touches `vector` elements of `element_bytes` bytes, one after the other: where does the last "
            "of these bytes lie?",
        ),
        Remedy(
            Fail.CASE(name="elements across an edge"),
            "What begins in one sector may reach over several: all from the first byte's sector to the last byte's.",
        ),
    ),
    "05.2": (
        Remedy(
            Hazard.OUTSIDE,
            "Tiles extend past the edges: row < rows and column < columns must both hold before the access.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"), "What is stored to dst? Before the kernel runs it holds NaN everywhere."
        ),
        Remedy(
            (Difference.WRONG(along="column"), Difference.UNWRITTEN(along="column")),
            "A tile has 64 columns: n goes through all of them, and the block's first is across * TILE[1].",
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
        Remedy(Fail.WASTE(space="global"), "Neighboring threads belong on neighboring columns: thread % TILE[1]."),
        Remedy(
            Difference.UNWRITTEN(share="all"), "What is stored to dst? Before the kernel runs it holds NaN everywhere."
        ),
        Remedy(
            (Difference.WRONG(along="row"), Difference.UNWRITTEN(along="row")),
            "128 threads are two rows of 64: thread // TILE[1] is 0 or 1, and the steps are as many rows as threads"
            " are together, from 0 to TILE[0].",
        ),
        Remedy(
            (Difference.WRONG(along="column"), Difference.UNWRITTEN(along="column")),
            "The column is across * TILE[1] + thread % TILE[1].",
        ),
    ),
    "05.4": (
        Remedy(
            Fail.LACKS(instruction="st.global.v4"),
            "Two copies with 128 bits an access: from_src to registers, registers to to_dst. What is not stored, or"
            " not loaded, the compiler leaves out.",
        ),
        Remedy(Hazard.OUTSIDE, "pred=mask belongs to both copies: the one that loads and the one that stores."),
        Remedy(
            Fail.USES(instruction="ld.global after st.global"),
            "All loads come before the first store: one cute.copy from from_src to registers, and one from there to "
            "to_dst.",
        ),
        Remedy(
            Difference.UNWRITTEN(share="all"),
            "dst holds NaN until something is copied to to_dst: which tensor comes second in the second copy?",
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
            "The way out has two copies: the tile to registers, registers to dst.",
        ),
        Remedy(
            Fail.LACKS(instruction="cp.async"),
            "The way in is one copy with `load`, from src's tile to the tile in shared memory.",
        ),
        Remedy(
            Fail.LACKS(instruction="ld.shared"), "What is stored must come out of the tile: stores.partition_S(tile)."
        ),
        Remedy(
            Hazard.UNWAITED(lacks="commit"),
            "cp_async_commit_group closes a group over the copies before it, and only a closed group can be waited "
            "for.",
        ),
        Remedy(
            Hazard.UNWAITED(lacks="wait"),
            "wait_group(0), after the commit and before the tile is read, by every thread: the number is how many "
            "groups may still be open.",
        ),
        Remedy(
            Hazard.RACE(earlier="write"),
            "A wait covers a thread's own copies. The others' are there after a barrier that comes behind the wait.",
        ),
        Remedy(Difference.UNWRITTEN(share="all"), "Which tensor does the last copy write to?"),
    ),
    "05.6": (
        Remedy(
            Fail.LACKS(instruction="st.shared"),
            "The data goes through the tile: registers to mine.partition_D(tile), mine.partition_S(turned) to "
            "registers.",
        ),
        Remedy(
            Fail.LACKS(instruction="ld.shared"),
            "What is stored to dst must be read back out of shared memory: mine.partition_S(turned) to registers.",
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
            "A row of the tile has TURN elements: with a smaller stride from row to row, rows share places.",
        ),
    ),
    "05.7": (
        Remedy(
            Fail.WASTE(space="shared"),
            "A column of 32 rows is to lie in 32 banks: five bits of the row's number, XORed into the five lowest "
            "bits of the offset. Where do the row's bits stand, with rows of 64?",
        ),
        Remedy(
            Difference.WRONG(got="10", want="7"),
            "What is written through a swizzle is read through it: the same one over the tile's layout and over the"
            " turned one.",
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
            "The tile comes by cute.copy(load, …, tma_bar_ptr=barrier) and leaves by cute.copy(store, …).",
        ),
        Remedy(
            Fail.LACKS(instruction="mbarrier"),
            "The fetch only starts. One thread announces the bytes to the mbarrier, and all wait for its phase 0.",
        ),
        Remedy(
            Fail.LACKS(instruction="fence.mbarrier_init"),
            "The engine counts on the barrier: mbarrier_init_fence() makes it visible there, before the fetch starts.",
        ),
        Remedy(Hazard.MBARRIER(lacks="bytes"), "Announce what the fetch brings: tile_bytes, once."),
        Remedy(
            Hazard.UNWAITED(lacks="mbarrier"),
            "One thread announces tile_bytes and arrives; then all wait for phase 0, before the tile is used.",
        ),
        Remedy(Hazard.MBARRIER(lacks="init"), "mbarrier_init comes first, by one thread."),
        Remedy(Hazard.DEADLOCK(lacks="arrivals"), "As many threads must arrive as mbarrier_init was told: one."),
        Remedy(
            Hazard.DEADLOCK(lacks="bytes"),
            "Announced and fetched must agree: one thread announces tile_bytes, once, and the fetch brings as many.",
        ),
        Remedy(
            (Hazard.RACE(earlier="write"), Hazard.RACE(earlier="init")),
            "One warp alone, and sync_warp() between making the mbarrier and using it.",
        ),
        Remedy(
            Hazard.UNWAITED(lacks="stored"),
            "After the store: commit the bulk group, then wait for 0 groups, before the block ends.",
        ),
        Remedy(
            Hazard.DIVERGENT(lanes="elsewhere"),
            "cute.copy with TMA elects a thread by itself: it stands outside of elect_one.",
        ),
        Remedy(Difference.UNWRITTEN(share="all"), "The way out is missing: cute.copy(store, from_tile, to_dst)."),
    ),
}
