"""The three languages of the course: compiled with their lines kept, and launched on the simulator."""
