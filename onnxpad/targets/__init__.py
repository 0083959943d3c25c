"""Other runtimes: what each computes, as data, and the writing that several of them accept."""
