"""Small models that notebooks explain: shared memory's banks, L2, software pipelines, occupancy."""
