"""The report of a race as one HTML file: no other file, no network, every name escaped."""
