"""What several solvers share; no solver stands here."""
