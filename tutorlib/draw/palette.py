"""The colors of every picture and explorer. All are light enough for dark text and safe for color-blind readers."""

# Paul Tol's "light" scheme, made for labeled cells: https://sronpersonalpages.nl/~pault/ (figure 5), in an order in
# which neighbors differ in lightness.
CATEGORIES = ("#77AADD", "#EEDD88", "#EE8866", "#99DDFF", "#BBCC33", "#FFAABB", "#44BB99", "#DDDDDD")
# One color for each rung of the GEMM ladder, in all figures: Tol's "bright" scheme for lines on white (figure 1),
# without its yellow and gray, which a projector loses, and six of his "muted" and "vibrant" colors.
LINES = (
    *("#66CCEE", "#4477AA", "#228833", "#EE6677", "#AA3377"),
    *("#EE7733", "#009988", "#332288", "#CC3311", "#882255", "#0077BB"),
)
SHADES = ("#9AA5B1", "#5F6C7B", "#A0522D", "#C3A374")  # shapes and orders: no rung of the ladder has these
RAMP = ("#FFFDE3", "#D3EDC3", "#8FD3C1", "#5FB6D0", "#6C9BD2")  # small to large, ever darker
INK = "#1F2933"  # text and thick lines
FAINT = "#8A949E"  # coordinates and thin lines
EMPTY = "#FFFFFF"
MARK = "#C8102E"  # the thing that a picture points at, which also has a thick outline


def category(index: int) -> str:
    """The color of a thread, tile or bank group; colors repeat after eight."""
    return CATEGORIES[index % len(CATEGORIES)]


def ramp(value: float, low: float, high: float) -> str:
    """The color of a value on the scale from low to high."""
    if high <= low:
        return RAMP[0]
    place = (min(max(value, low), high) - low) / (high - low) * (len(RAMP) - 1)
    step = min(int(place), len(RAMP) - 2)
    return mixed(RAMP[step], RAMP[step + 1], place - step)


def mixed(color: str, other: str, share: float) -> str:
    """A color with this share of another one."""
    parts = zip(channels(color), channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in parts)


def channels(color: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of "#RRGGBB"."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
