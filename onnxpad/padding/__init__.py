"""Padding sites: what is padded, where it is written, and how it may be written instead."""
