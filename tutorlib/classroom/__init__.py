"""A class: what its students handed in, graded into a gradebook, and what is made of that."""
