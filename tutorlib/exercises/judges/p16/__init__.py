"""What the process of an answer needs of page 16's exercises."""
