"""What the process of an answer needs of page 17's exercises."""
