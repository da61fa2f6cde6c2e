"""The room of page 01: `exercises` is the list that the registry reads."""
