"""What notebooks explain, as small functions: shared memory's banks, L2, software pipelines, occupancy."""
