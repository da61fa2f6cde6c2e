"""The author's instruments: sweeps, explorations, witnesses. No reader's page and no grading imports them."""
