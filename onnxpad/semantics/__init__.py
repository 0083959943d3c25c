"""What operators mean: one row each, and two engines that place the windows of those that slide."""
