"""A kernel's contract: its function, its tensors and its error bound; and one call of it, with all of its faults."""
