"""How answers of page 16 alone are judged: the part of its room that the sandbox shows."""
