"""Padding sites: how much each operator is padded, where that is written, and the alternatives."""
