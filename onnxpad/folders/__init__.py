"""Many models at once: processes that serve them, outcomes by file, and runs that go on."""
