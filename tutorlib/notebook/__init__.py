"""Functions for notebooks: check and hint, explain, tables of measurements, kernels run on a GPU or simulated."""
