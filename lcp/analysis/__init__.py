"""What can be said of an answer: how far it may be from the truth, how it moves with the data. Rigorous arithmetic."""
