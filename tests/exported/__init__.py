"""What exporters wrote, fixed in every style, each once: whoever asks about a result shares it.

A model that is added to models/ is tested without a line here. The first parameter of a test is the
model: all tests of one go to one worker, as tests/conftest.py arranges. Results that are shared are
those of the proofs alone, which cost little, so that what an item costs hardly depends on others.
"""
