"""The GEMMs of notebook 07, in cuTile."""
