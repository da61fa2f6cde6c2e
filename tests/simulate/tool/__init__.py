"""The simulator as a tool, on kernels that have nothing to do with the course."""
