"""Records of runs: in memory and on disk, whole or in chunks, and what is read from them."""
