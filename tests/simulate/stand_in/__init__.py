"""The GPU that stands in for one."""
