"""Performance figures, drawn from measurement files."""
