"""Compiled contact geometry and the terms of one contact row."""
