"""Copy kernels with one thing changed at a time: what notebook 05's sweeps compare."""
