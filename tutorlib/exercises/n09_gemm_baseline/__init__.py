"""The room of page 09: `exercises` is the list that the registry reads."""
