"""What the course measures beyond exercises: sweeps, launches, the chooser's fit. No page imports it."""
