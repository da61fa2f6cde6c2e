"""How answers of page 15 alone are judged: the part of its room that the sandbox shows."""
