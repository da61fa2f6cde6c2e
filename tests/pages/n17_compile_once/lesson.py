"""The one thing each exercise of page 17 teaches, and answers without it."""

from tests.pages.lesson import Lesson, named

LESSONS = {
    "17.1": Lesson(
        "what is paid once is divided among the calls", named("17.1", "altogether", "all_once", "loads_for_nothing")
    ),
    "17.2": Lesson(
        "a compilation for each type, not for each call", named("17.2", "each_call", "no_dtype", "one_mode_is_all")
    ),
    "17.3": Lesson(
        "a key has what the compiled code depends on, no more", named("17.3", "with_shape", "no_rank", "address_only")
    ),
    "17.4": Lesson(
        "compile once for a key, call every time", named("17.4", "CompilesForNothing", "KeptByAll", "ByHash")
    ),
    "17.5": Lesson(
        "compiled with dynamic views, called with tensors",
        named("17.5", "compiles_each_call", "static", "first_alone", "runs_twice", "runs_on_the_examples"),
    ),
    "17.6": Lesson(
        "load or compile, saved at once or not at all",
        named("17.6", "always_compiles", "straight_to_the_name", "keeps_in_memory"),
    ),
    "17.7": Lesson("members begin at multiples of their alignment", named("17.7", "packed", "open_ended")),
    "17.8": Lesson(
        "a struct of shared memory, tiles aligned for the swizzle",
        named("17.8", "unaligned_a", "aligned_to_128", "a_class"),
    ),
    "17.9": Lesson(
        "one lop3 by its table, as inline PTX",
        named("17.9", "in_python", "the_dsl_s", "two_operands", "two_in_the_text"),
    ),
    "17.10": Lesson("one redux.sync for a warp, as a native op", named("17.10", "by_shuffles", "the_dsl_s", "inlined")),
    "17.11": Lesson(
        "captured once on the current stream after a first launch, replayed on the graph's own buffers",
        named(
            "17.11",
            "without_a_graph",
            "no_first_launch",
            "stream_of_before",
            "never_copies",
            "on_the_examples",
            "waits",
        ),
    ),
    "17.12": Lesson(
        "the least recently used goes, and threads wait only for their own compilation",
        named("17.12", "Unbounded", "FirstIn", "NoLock", "LooksOnce", "OneLockToCompile", "EvictsFirst", "KeepsAList"),
    ),
    "17.13": Lesson(
        "a kernel for each target, without its GPU",
        named("17.13", "first_for_all", "no_target", "without_the_letter", "without_ffi"),
    ),
}
