"""What the simulator takes of Triton that Triton does not document."""
