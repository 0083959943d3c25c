"""What exporters wrote, fixed in every style, each once: whoever asks about a result shares it.

A model that is added to models/ is tested without a line here. A test's first parameter is the
model, so that all tests of one are run by one worker, as tests/conftest.py arranges.
"""
