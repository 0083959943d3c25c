"""Removes the folders of the machine from the stack traces that torch's exporter puts into nodes.

Run on the models that an exporter with `dynamo=True` wrote, before they are committed:

    python without_paths.py ../net_dynamo.onnx ...
"""

import re
import sys
from pathlib import Path

import onnx
from google.protobuf.message import Message

FOLDERS = re.compile(r'(?<=")/[^"\n]*?/(?:site-packages/|(?=models/scripts/))')


def strip(message: Message) -> int:
    """Strips all strings of a message and those in it; returns how many changed."""
    count = 0
    for field, value in message.ListFields():
        values = value if field.is_repeated else [value]
        if field.message_type is not None:
            if field.message_type.name != "TensorProto":
                count += sum(map(strip, values))
        elif field.type == field.TYPE_STRING:
            stripped = [FOLDERS.sub("", each) for each in values]
            if stripped != list(values):
                count += 1
                if field.is_repeated:
                    value[:] = stripped
                else:
                    setattr(message, field.name, stripped[0])
    return count


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        model = onnx.load(path, load_external_data=False)
        print(path, strip(model))
        path.write_bytes(model.SerializeToString())
