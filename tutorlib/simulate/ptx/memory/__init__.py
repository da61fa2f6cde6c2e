"""The state spaces of PTX (PTX ISA, 5.1)."""
