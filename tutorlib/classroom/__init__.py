"""A class: its hand-ins, graded into a gradebook, and the files made from that."""
