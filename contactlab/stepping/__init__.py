"""Time stepping: one step after the other, in compiled form, resumable wherever Python has a word."""
