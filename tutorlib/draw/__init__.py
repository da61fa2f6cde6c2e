"""Pictures of layouts, shared-memory banks, threads and blocks. Every function returns its figure; none saves it."""
