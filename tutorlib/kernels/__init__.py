"""The kernels that notebooks show and grow, and the list of the ladder's rungs."""
