"""The room of page 17: `exercises` is the list that the registry reads."""
