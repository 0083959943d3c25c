"""Whether two models compute the same for every size: proved, refuted, or neither."""
