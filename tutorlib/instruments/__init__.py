"""What the course measures beyond exercises: sweeps, launches. No page imports it."""
