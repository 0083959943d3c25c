"""The tables of forms in the manual, made by fixing a small model for each row and style."""
