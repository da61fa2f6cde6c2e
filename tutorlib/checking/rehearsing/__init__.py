"""Main loops, run on the CPU without data by machines that take every liberty the hardware has."""
