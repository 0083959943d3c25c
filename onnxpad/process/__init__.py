"""How the process itself behaves: garbage collection, signals, answers that are kept."""
