"""The course itself: notebooks built from their sources and executed, README's table, what a machine can grade."""
