"""How answers of page 11 alone are judged: the part of its room that the sandbox shows."""
