"""Worlds as descriptions: bodies, shapes, joints and what acts on them, and the foreign files they are read from."""
