"""Kernels that others wrote, on the simulator: `python -m tests.outside.runs` says which run, and which are right."""
