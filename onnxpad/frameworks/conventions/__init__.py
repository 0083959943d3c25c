"""The padding conventions of frameworks: `table` has them, and `explanation` compares them."""
