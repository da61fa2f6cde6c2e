"""Layouts by what they do alone: notebook 01 asks which ones draw these pictures."""

PICTURES = {  # name → the offset in each row and column
    "A": (
        (0, 1, 2, 3, 4, 5),
        (8, 9, 10, 11, 12, 13),
        (16, 17, 18, 19, 20, 21),
        (24, 25, 26, 27, 28, 29),
    ),
    "B": (
        (0, 1, 8, 9, 16, 17),
        (2, 3, 10, 11, 18, 19),
        (4, 5, 12, 13, 20, 21),
        (6, 7, 14, 15, 22, 23),
    ),
    "C": (
        (0, 2, 8, 10),
        (1, 3, 9, 11),
        (4, 6, 12, 14),
        (5, 7, 13, 15),
    ),
}
