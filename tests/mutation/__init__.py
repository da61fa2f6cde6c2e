"""Right kernels made wrong in one place each, to see whether the simulator says so.

python -m tests.mutation 05 12.1        # the answers of notebook 05, and one of notebook 12
"""
