"""Measuring: a kernel timed beside its baseline, hardware counters, targets, results as files, sweeps."""
