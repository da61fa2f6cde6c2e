"""The one thing each exercise of page 12 teaches, and answers without it."""

from tests.pages.change import derive, swap
from tests.pages.lesson import Lesson, named
from tutorlib.course.answers import load_answers

YOURS = load_answers("12_three_stages")["12.4"]
WAIT = "wait_group(steps.stages - 2)"


def whole(name, what, within, *changes):
    return derive(YOURS, name, what, *changes, within=within)


nothing_in_flight = whole(
    "nothing_in_flight",
    "Waits for every group: one tile at a time.",
    "multistage",
    swap(WAIT, "wait_group(0)", times=2),
)
a_needless_barrier = whole(
    "a_needless_barrier",
    "Two barriers in each step.",
    "multistage",
    swap("        write = read\n", "        write = read\n        cute.arch.sync_threads()\n"),
)
raster_order = whole(
    "raster_order",
    "Tiles along rows.",
    "in_groups",
    swap("return l2.grouped(block, rows, across, 8 if rows > 32 else rows)", "return block // across, block % across"),
)

LESSONS = {
    "12.1": Lesson(
        "stages - 1 tiles in flight, counted in groups",
        named("12.1", "waits_for_all", "two_buffers_only", "unrehearsed"),
    ),
    "12.2": Lesson(
        "the smallest of four limits, registers by partition of the SM",
        named("12.2", "forgets_what_is_reserved", "one_register_file", "registers_one_by_one"),
    ),
    "12.3": Lesson("a configuration that fits", named("12.3", "one_stage", "spills", "nine_stages")),
    "12.4": Lesson(
        "the parts in one kernel: copies in flight, one barrier a step, tiles in groups, as tuned() says",
        (nothing_in_flight, a_needless_barrier, raster_order, *named("12.4", "no_swizzle", "three_stages")),
    ),
}
