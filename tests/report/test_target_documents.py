"""What is known of a target in words: conditions, cells with their sources, and models."""

from onnxpad.report.documents.target_documents import (
    _TOGETHER,
    _WORDS,
)
from onnxpad.targets.form import Form
from onnxpad.targets.target_file import WORDS


def test_words_are_of_values_that_there_are() -> None:
    for name, value in [*_WORDS, *((name, each) for name, found in _TOGETHER for each in found)]:
        if name in WORDS:
            assert value in WORDS[name]
        else:
            assert isinstance(value, type(Form._field_defaults[name]))
