"""The room of page 13: `exercises` is the list that the registry reads."""
