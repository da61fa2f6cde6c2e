"""How answers of page 20 alone are judged: the part of its room that the sandbox shows."""
