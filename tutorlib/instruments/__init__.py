"""What the course measures beyond exercises: sweeps, witnesses, the fit of the chooser. No page imports it."""
