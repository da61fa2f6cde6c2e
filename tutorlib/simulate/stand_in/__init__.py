"""A GPU that is not there: torch, the CuTe DSL, cuTile and Triton find it, and every launch on it is simulated."""
