"""The tables of forms in the README, made by fixing a small model for each row and style."""
