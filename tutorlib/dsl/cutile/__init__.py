"""cuTile's undocumented names that the course uses."""
