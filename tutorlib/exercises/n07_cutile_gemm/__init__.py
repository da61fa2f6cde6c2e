"""The room of page 07: `exercises` is the list that the registry reads."""
