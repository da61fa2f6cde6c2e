"""How answers of page 13 alone are judged: the part of its room that the sandbox shows."""
