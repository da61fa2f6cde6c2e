"""Wrong answers to notebook 07: K in parts."""

from runpy import run_path

import cuda.tile as ct
import torch

from tests.pages.change import derive, swap
from tests.pages.n07_cutile_gemm.cutile_gemms import PARTS
from tests.pages.table import answer, says
from tutorlib.compiling.source_files import lasting_folder
from tutorlib.course.source import parse
from tutorlib.paths import SOLUTIONS


def split(splits=None, grid=None, second=None, adds=(32, 64), dtype=torch.float32, room=torch.empty, first=True):
    """A function like the solution's with something else in one place. splits: of (sms, tiles, steps)."""

    def split_gemm(a, b, c):
        rows, columns, steps = ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), ct.cdiv(a.shape[1], 64)
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        n = splits(sms, rows * columns, steps) if splits else max(1, min(sms // (rows * columns), steps))
        parts = room(n, *c.shape, device=a.device, dtype=dtype)
        stream = torch.cuda.current_stream()
        where = grid(rows, columns, n) if grid else (rows, columns, n)
        if first:
            ct.launch(stream, where, PARTS, (a, b, parts, 128, 128, 64))
        if second != ():
            ct.launch(stream, second or tuple(map(ct.cdiv, c.shape, adds)), ADD_PARTS, (parts, c, *adds))

    return split_gemm


def torch_adds(a, b, c):
    """Leaves the second pass to torch."""
    parts = torch.empty(1, *c.shape, device=a.device)
    grid = (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), 1)
    ct.launch(torch.cuda.current_stream(), grid, PARTS, (a, b, parts, 128, 128, 64))
    c.copy_(parts.sum(0))


def twice(a, b, c):
    """Does all of it again."""
    split()(a, b, c)
    split()(a, b, c)


def a_number_for_the_stream(a, b, c):
    """The SMs where the stream should be."""
    parts = torch.empty(1, *c.shape, device=a.device)
    ct.launch(132, (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), 1), PARTS, (a, b, parts, 128, 128, 64))


def load_page():
    """The names of the solved page's functions that are no exercise's answer."""
    code = next(cell for cell in parse(SOLUTIONS / "07_cutile_gemm.py") if "def add_parts" in cell.solved)
    file = lasting_folder() / "page.py"
    file.write_text("import cuda.tile as ct\n\n" + code.solved, encoding="utf-8")
    return run_path(str(file))


ADD_PARTS = load_page()["add_parts"]


WRONG = {
    "07.8": [
        derive(
            PARTS,
            "one_does_it_all",
            "Part 0 has all the steps, the others add zeros.",
            swap("range(part * run, min(steps, part * run + run))", "range(0, steps if part == 0 else 0)"),
        ),
        says("elements of a; ")(
            derive(
                PARTS,
                "loads_all",
                "Each part loads all of K and multiplies its own run.",
                swap("range(part * run, min(steps, part * run + run))", "range(steps)"),
                swap("        total = ct.mma(", "        if k // run == part:\n            total = ct.mma("),
            )
        ),
        says("Each part has all of K")(
            derive(
                PARTS,
                "all_do_it_all",
                "Each part has all the steps.",
                swap("range(part * run, min(steps, part * run + run))", "range(steps)"),
            )
        ),
        says("lies outside a")(
            derive(
                PARTS,
                "runs_past_the_end",
                "The last part goes beyond K.",
                swap("min(steps, part * run + run)", "part * run + run"),
            )
        ),
        says("steps // S rounds down")(
            derive(
                PARTS,
                "floored_runs",
                "Drops the steps that are left over.",
                swap("run = ct.cdiv(steps, parts.shape[0])", "run = steps // parts.shape[0]"),
            )
        ),
        says("the array has 3 modes and the tile 2")(
            derive(PARTS, "flat_tile", "Stores a tile of two modes.", swap("ct.reshape(total, (1, tm, tn))", "total"))
        ),
        derive(
            PARTS,
            "floored_steps",
            "Leaves out a partial step.",
            swap("steps = ct.cdiv(a.shape[1], tk)", "steps = a.shape[1] // tk"),
        ),
        says("Part s has every S-th step")(
            derive(
                PARTS,
                "every_other",
                "Deals the steps out in turns.",
                swap("range(part * run, min(steps, part * run + run))", "range(part, steps, parts.shape[0])"),
            )
        ),
        derive(PARTS, "part_last", "The part is the last index.", swap("(part, m, n), ct", "(m, n, part), ct")),
        derive(PARTS, "part_zero", "Stores every part to the first place.", swap("(part, m, n)", "(0, m, n)")),
        derive(
            PARTS, "starts_at_zero", "Every part begins with the first step.", swap("range(part * run,", "range(0,")
        ),
        derive(PARTS, "no_padding", "Undetermined beyond K.", swap(", padding_mode=ZERO", "", times=2)),
        derive(
            PARTS,
            "in_bf16",
            "Rounds the parts to bf16.",
            swap(
                "ct.reshape(total, (1, tm, tn))",
                "ct.reshape(total.astype(ct.bfloat16).astype(ct.float32), (1, tm, tn))",
            ),
        ),
        derive(
            PARTS,
            "two_parts",
            "Takes two for their number.",
            swap("ct.cdiv(steps, parts.shape[0])", "ct.cdiv(steps, 2)"),
        ),
        says("more than it must")(
            derive(
                PARTS,
                "stores_in_the_loop",
                "Stores after every step, and nothing where there is none.",
                swap(
                    "\n    ct.store",
                    "\n    ct.store(parts, (part, m, n), ct.zeros((1, tm, tn), ct.float32))\n    ct.store",
                ),
            )
        ),
    ],
    "07.9": [
        answer("one_part", "Never cuts K.", split(splits=lambda sms, tiles, steps: 1), "3 SMs", "has 1 block"),
        answer(
            "three_sms",
            "Knows the number of SMs of the GPU that the check pretends.",
            split(splits=lambda sms, tiles, steps: max(1, min(3 // tiles, steps))),
            "the GPU has 5 SMs",
        ),
        answer(
            "rounded_up",
            "One part more than the SMs have room for.",
            split(splits=lambda sms, tiles, steps: max(1, min(-(-sms // tiles), steps))),
            "wait for a second wave",
        ),
        answer("always_three", "Cuts K everywhere.", split(splits=lambda sms, tiles, steps: 3)),
        answer(
            "by_multiprocessors",
            "As many parts as there are SMs.",
            split(splits=lambda sms, tiles, steps: min(sms, steps)),
            "extra work",
        ),
        answer(
            "more_than_steps",
            "Parts without a step.",
            split(splits=lambda sms, tiles, steps: max(1, sms // tiles)),
            "some have nothing to do",
        ),
        answer(
            "no_part",
            "No part where there are more tiles.",
            split(splits=lambda sms, tiles, steps: min(sms // tiles, steps)),
        ),
        answer("flat_grid", "A grid of two sizes.", split(grid=lambda rows, columns, n: (rows, columns))),
        answer(
            "parts_first", "The grid's axes in another order.", split(grid=lambda rows, columns, n: (n, rows, columns))
        ),
        answer(
            "list_grid",
            "A list for a grid.",
            split(grid=lambda rows, columns, n: [rows, columns, n]),
            "the grid should be a tuple",
        ),
        answer(
            "added_in_large_tiles",
            "The second pass has a block for each tile of the first.",
            split(adds=(128, 128)),
            "the second pass has 1 block for 3 SMs",
        ),
        answer("one_block_adds", "The second pass has one block.", split(second=(1, 1))),
        answer("never_added", "Leaves out the second pass.", split(second=()), "never wrote it"),
        answer("never_multiplied", "Leaves out the first pass.", split(first=False)),
        answer("parts_in_bf16", "Rounds each part.", split(dtype=torch.bfloat16)),
        says("it launches 4 kernels, and two passes are enough")(twice),
        says("it launches no kernel that stores to c")(torch_adds),
        says("wants a stream first")(a_number_for_the_stream),
    ],
}
