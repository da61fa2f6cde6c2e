"""How answers of page 08 alone are judged: the part of its room that the sandbox shows."""
