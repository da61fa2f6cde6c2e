"""GEMMs whose epilogue does more than round: notebook 16."""
