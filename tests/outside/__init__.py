"""Kernels that others wrote, on the simulator: what runs, what is right, which opcodes they are made of.

`python -m tests.outside` runs them and writes figures/data/simulator/coverage.json and docs/coverage.md.
"""
