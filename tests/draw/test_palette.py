"""The palette."""

from tutorlib.draw.palette import CATEGORIES, INK, RAMP, channels


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (n / 255 for n in channels(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(light, dark):
    return (luminance(light) + 0.05) / (luminance(dark) + 0.05)


def test_colors_carry_dark_text():
    """Contrast of at least 4.5 to 1 (WCAG 2, level AA) on every color."""
    assert all(contrast(color, INK) >= 4.5 for color in (*CATEGORIES, *RAMP))
