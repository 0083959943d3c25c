"""How the process itself behaves: garbage collection, signals, caching."""
