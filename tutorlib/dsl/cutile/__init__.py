"""What the course takes of cuTile besides its documented names."""
