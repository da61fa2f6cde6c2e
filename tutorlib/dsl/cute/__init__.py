"""What the course takes of the CuTe DSL besides its documented names."""
