"""The room of page 05: `exercises` is the list that the registry reads."""
