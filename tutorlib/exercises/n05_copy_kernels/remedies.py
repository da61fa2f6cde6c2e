"""Remedies of notebook 05."""

from tutorlib.checking.exercise import Remedy, Words

COPY_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "05.1": (
        Remedy(
            Words("gives {"),
            "How many sectors is asked for: the len of that set.",
        ),
        Remedy(
            Words("threads along a row: "),
            "Write the bytes down for three threads: thread n touches the bytes from offset · size on. Which "
            "sectors of 32 bytes are these, each counted once?",
        ),
        Remedy(
            Words("threads down a column: "),
            "Only sectors that some thread touches come: those between two threads' rows do not.",
        ),
        Remedy(
            Words("vectors: "),
            "A thread touches `vector` elements of `element_bytes` bytes, one after the other: where does the last "
            "of these bytes lie?",
        ),
        Remedy(
            Words("elements across an edge: "),
            "What begins in one sector may reach over several: all from the first byte's sector to the last byte's.",
        ),
    ),
    "05.2": (
        Remedy(
            Words("lies outside"),
            "Tiles hang over the edges: both row < rows and column < columns must hold before the element is touched.",
        ),
        Remedy(
            Words("Unwritten: all"),
            "What is stored to dst? Before the kernel runs it holds NaN everywhere.",
        ),
        Remedy(
            Words("all in columns"),
            "A tile has 64 columns: n goes through all of them, and the block's first is across * TILE[1].",
        ),
        Remedy(
            Words("all in rows"),
            "A tile has 128 rows, one for each thread: the block's first is down * TILE[0]. And are rows compared "
            "with rows?",
        ),
    ),
    "05.3": (
        Remedy(
            Words("lies outside"),
            "Tiles hang over the edges: both row < rows and column < columns must hold before the element is touched.",
        ),
        Remedy(
            Words("sectors are used in part"),
            "Neighbouring threads belong on neighbouring columns: thread % TILE[1].",
        ),
        Remedy(
            Words("Unwritten: all"),
            "What is stored to dst? Before the kernel runs it holds NaN everywhere.",
        ),
        Remedy(
            Words("all in row"),
            "128 threads are two rows of 64: thread // TILE[1] is 0 or 1, and the steps are as many rows as threads"
            " are together, from 0 to TILE[0].",
        ),
        Remedy(
            Words("all in columns"),
            "The column is across * TILE[1] + thread % TILE[1].",
        ),
    ),
    "05.4": (
        Remedy(
            Words("and st.global.v4"),
            "Two copies with 128 bits an access: from_src to registers, registers to to_dst. What is not stored, or"
            " not loaded, the compiler leaves out.",
        ),
        Remedy(
            Words("lies outside"),
            "pred=mask belongs to both copies: the one that loads and the one that stores.",
        ),
        Remedy(
            Words("ld.global after st.global"),
            "All loads come before the first store: one cute.copy from from_src to registers, and one from there to "
            "to_dst.",
        ),
        Remedy(
            Words("Unwritten: all"),
            "dst holds NaN until something is copied to to_dst: which tensor comes second in the second copy?",
        ),
        Remedy(
            Words("never wrote it"),
            "The block has WIDE_THREADS threads, and each has a part of its own: tiled.get_slice(thread).",
        ),
        Remedy(
            Words("same rank"),
            "from_src, to_dst, and registers made like one of them, are this thread's parts: three modes each.",
        ),
    ),
    "05.5": (
        Remedy(
            Words("without ld.shared and"),
            "The way out has two copies: the tile to registers, registers to dst.",
        ),
        Remedy(
            Words("without cp.async"),
            "The way in is one copy with `load`, from src's tile to the tile in shared memory.",
        ),
        Remedy(
            Words("without ld.shared"),
            "What is stored must come out of the tile: stores.partition_S(tile).",
        ),
        Remedy(
            Words("it is in no committed group"),
            "cp_async_commit_group closes a group over the copies before it, and only a closed group can be waited "
            "for.",
        ),
        Remedy(
            Words("no wait has covered its group"),
            "wait_group(0), after the commit and before the tile is read, by every thread: the number is how many "
            "groups may still be open.",
        ),
        Remedy(
            Words("with no barrier between"),
            "A wait covers a thread's own copies. The others' are there after a barrier that comes behind the wait.",
        ),
        Remedy(
            Words("Unwritten: all"),
            "Which tensor does the last copy write to?",
        ),
    ),
    "05.6": (
        Remedy(
            Words("without st.shared"),
            "The data goes through the tile: registers to mine.partition_D(tile), mine.partition_S(turned) to "
            "registers.",
        ),
        Remedy(
            Words("without ld.shared"),
            "What is stored to dst must be read back out of shared memory: mine.partition_S(turned) to registers.",
        ),
        Remedy(
            Words("with no barrier between"),
            "All threads write the tile, then sync_threads(), then they read it turned.",
        ),
        Remedy(
            Words("is 3 and should be 7"),
            "dst[0, 1] looks like src[0, 1], as if nothing was turned: which of the two layouts in shared memory "
            "makes rows of columns?",
        ),
        Remedy(
            Words("store different values to one place"),
            "A row of the tile has TURN elements: with a smaller stride from row to row, rows share places.",
        ),
    ),
    "05.7": (
        Remedy(
            Words("threads meet in a bank"),
            "A column of 32 rows is to lie in 32 banks: five bits of the row's number, XORed into the five lowest "
            "bits of the offset. Where do the row's bits stand, with rows of 64?",
        ),
        Remedy(
            Words("is 10 and should be 7"),
            "What is written through a swizzle is read through it: the same one over the tile's layout and over the"
            " turned one.",
        ),
        Remedy(
            Words("is 3 and should be 7"),
            "dst[0, 1] looks like src[0, 1], as if nothing was turned: which of the two layouts in shared memory "
            "makes rows of columns?",
        ),
    ),
    "05.8": (
        Remedy(
            Words("without cp.async.bulk.tensor"),
            "The tile comes by cute.copy(load, …, tma_bar_ptr=barrier) and leaves by cute.copy(store, …).",
        ),
        Remedy(
            Words("without mbarrier"),
            "The fetch only starts. One thread announces the bytes to the mbarrier, and all wait for its phase 0.",
        ),
        Remedy(
            Words("without fence.mbarrier_init"),
            "The engine counts on the barrier: mbarrier_init_fence() makes it visible there, before the fetch starts.",
        ),
        Remedy(
            Words("are announced to the mbarrier"),
            "Announce what the fetch brings: tile_bytes, once.",
        ),
        Remedy(
            Words("its mbarrier has not been waited for"),
            "One thread announces tile_bytes and arrives; then all wait for phase 0, before the tile is used.",
        ),
        Remedy(
            Words("nobody has made one there"),
            "mbarrier_init comes first, by one thread.",
        ),
        Remedy(
            Words("arrivals, and nobody"),
            "As many threads must arrive as mbarrier_init was told: one.",
        ),
        Remedy(
            Words("bytes, and nobody"),
            "Announced and fetched must agree: one thread announces tile_bytes, once, and the fetch brings as many.",
        ),
        Remedy(
            Words("with no barrier between"),
            "One warp alone, and sync_warp() between making the mbarrier and using it.",
        ),
        Remedy(
            Words("may still be reading the shared memory"),
            "After the store: commit the bulk group, then wait for 0 groups, before the block ends.",
        ),
        Remedy(
            Words("names lane"),
            "cute.copy with TMA elects a thread by itself: it stands outside of elect_one.",
        ),
        Remedy(
            Words("Unwritten: all"),
            "The way out is missing: cute.copy(store, from_tile, to_dst).",
        ),
    ),
}
