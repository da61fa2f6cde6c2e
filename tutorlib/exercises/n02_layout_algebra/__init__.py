"""The room of page 02: `exercises` is the list that the registry reads."""
