"""The picture of a GPU that notebook 04 starts from: its memories, its SMs, and where threads run."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from tutorlib.draw.grid import Picture
from tutorlib.draw.hopper import BLUE, GREEN, ORANGE, PALE, YELLOW, arrow, box, canvas
from tutorlib.draw.palette import EMPTY, INK, category
from tutorlib.machine.hardware import hardware_of
from tutorlib.models.occupancy import A100, H100, SM

HEIGHT = 440
SMALL = 15  # pixels of an SM among the others
SMS: dict[str, SM] = {"80": A100, "90": H100}  # by compute capability


def show_machine(gpu: str = "NVIDIA H200") -> Picture:
    """Device memory, L2 and SMs of a GPU, with one SM opened; numbers from its datasheet and CUDA's tables.

    Raises LookupError for a GPU that the tables do not have.
    """
    hardware = hardware_of(gpu)
    if hardware is None or hardware.arch not in SMS:
        raise LookupError(f"no numbers are known for {gpu!r}")
    sm = SMS[hardware.arch]
    picture, axes = canvas(HEIGHT)
    box(axes, (10, 40, 110, 290), f"device memory\n(HBM)\n\n{hardware.bandwidth / 1e12:.2g} TB/s", YELLOW, middle=True)
    box(axes, (195, 40, 90, 290), f"L2 cache\n\n{hardware.l2 // 2**20} MiB\nfor all", GREEN, middle=True)
    right = small_sms(axes, 350, 62, hardware.sms)
    arrow(axes, [(120, 185), (195, 185)], (157, 180), "sectors of\n32 bytes", both=True)
    arrow(axes, [(285, 185), (345, 185)], (315, 180), "sectors", both=True)

    box(axes, (590, 10, 390, 350), "one SM, opened", EMPTY)
    quarter = sm.registers * 4 // 4 // 1024
    for n in range(4):
        x = 604 + 92 * n
        box(axes, (x, 38, 86, 46), "scheduler:\none warp\na cycle", PALE, middle=True)
        box(axes, (x, 90, 86, 66), f"registers\n{quarter} KiB", BLUE, middle=True)
        box(axes, (x, 162, 86, 40), "arithmetic,\ntensor core", category(7), middle=True)
    says = f"L1 cache and shared memory, {sm.shared // 1024} KiB of it at most"
    box(axes, (604, 262, 362, 82), says, ORANGE)
    for bank in range(32):
        axes.add_patch(Rectangle((617 + 10.5 * bank, 292), 9, 30, facecolor=EMPTY, edgecolor=INK, linewidth=0.6))
    axes.text(785, 334, "32 banks, 4 bytes of each in a cycle", ha="center", va="center", size=7.5, color=INK)
    arrow(axes, [(785, 202), (785, 262)], (850, 240), "loads and stores", both=True)
    axes.plot([right, 590], [62, 10], color=INK, linewidth=0.7)
    axes.plot([right, 590], [62 + SMALL, 360], color=INK, linewidth=0.7)

    mapping = (
        (110, "grid", "all blocks of a launch:\nthe whole GPU"),
        (350, "block", f"stays on one SM, which holds up to\n{sm.blocks} blocks, {sm.threads:,} threads"),
        (610, "warp", "32 threads of a block that\nissue instructions together"),
        (860, "thread", "has registers of its own,\ninvisible to other threads"),
    )
    for x, name, says in mapping:
        axes.text(x, 380, name, ha="center", va="center", size=10, weight="bold", color=INK)
        axes.text(x, 410, says, ha="center", va="center", size=8, color=INK)
    axes.text(10, 20, gpu, ha="left", va="center", size=10, weight="bold", color=INK)
    return picture


def small_sms(axes: Axes, left: int, top: int, count: int) -> int:
    """`count` small squares. Returns the right edge of the one at the upper right, the one that is opened."""
    rows = 12
    columns = -(-count // rows)
    for n in range(count):
        column, row = n % columns, n // columns
        opened = n == columns - 1
        x, y = left + (SMALL + 1) * column, top + (SMALL + 3) * row
        color = category(2) if opened else category(7)
        axes.add_patch(Rectangle((x, y), SMALL - 1, SMALL, facecolor=color, edgecolor=INK, linewidth=0.6))
    axes.text(left + (SMALL + 1) * columns / 2, top - 12, f"{count} SMs", ha="center", va="center", size=9, color=INK)
    return left + (SMALL + 1) * columns - 2
