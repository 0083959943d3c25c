"""Embeds external data into the model file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx

from onnxpad.errors import OutputError
from onnxpad.file.external_data import detach, external_tensors, internal, is_external, reference
from onnxpad.file.skeleton import (
    GRAPH_PARTS,
    INITIALIZER_FIELD,
    MODEL_PARTS,
    Chunk,
    Record,
    Skeleton,
    encode,
    header,
)

_RAW_DATA: Final = 9

# The greatest message that protobuf reads.
_MESSAGE_LIMIT: Final = (1 << 31) - 1


def inlined(skeleton: Skeleton, folder: Path) -> Iterator[Chunk]:
    """Yields a model with all external tensors embedded, as read from the files in `folder`.

    Raises:
        OutputError: The model would be larger than protobuf can read.
        ModelError: Elements cannot be read.
    """
    size = sum(reference(tensor).length or 0 for tensor in skeleton.external)
    if size + len(skeleton.data) > _MESSAGE_LIMIT:
        raise OutputError(
            f"{size / 1e9:.1f} GB of external data do not fit inside a model, which ends at 2 GiB; "
            "copy the data"
        )
    replaced: dict[Record, Sequence[Chunk]] = {}
    for field, name in GRAPH_PARTS.items():
        parts = zip(getattr(skeleton.light.graph, name), skeleton.fields[field], strict=True)
        for part, record in parts:
            if field == INITIALIZER_FIELD and is_external(part):
                replaced[record] = _mapped(skeleton, record, folder)
            # Searching the bytes is faster than looking into every node.
            elif b"location" in part.SerializeToString():
                holder = onnx.ModelProto()
                item = getattr(holder.graph, name).add()
                replaced[record] = [_filled(skeleton, record, holder, item, folder)]
    for record in skeleton.model:
        if record.field in MODEL_PARTS and record.delimited:
            holder = onnx.ModelProto()
            item = getattr(holder, MODEL_PARTS[record.field]).add()
            replaced[record] = [_filled(skeleton, record, holder, item, folder)]
    return skeleton.splice(replaced, ())


def _mapped(skeleton: Skeleton, record: Record, folder: Path) -> list[Chunk]:
    """The record of an external initializer; its elements are mapped into memory, not read."""
    tensor = skeleton.whole(record, onnx.TensorProto())
    location, begin, length = reference(tensor)
    try:
        elements = np.memmap(folder / location, np.uint8, "r", begin, (length or 0,)).data
    except (OSError, ValueError):  # where bytes are missing, `internal` raises with the reason
        elements = memoryview(internal(tensor, folder).raw_data)
    detach(tensor)
    body = tensor.SerializeToString() + header(_RAW_DATA, len(elements))
    return [header(INITIALIZER_FIELD, len(body) + len(elements)), body, elements]


def _filled(
    skeleton: Skeleton, record: Record, holder: onnx.ModelProto, item: Any, folder: Path
) -> Chunk:
    """A record with all of its external tensors embedded.

    `holder` is an empty model except for `item`, an empty message of the record's kind.
    """
    skeleton.whole(record, item)
    found = external_tensors(holder)
    for tensor in found:
        tensor.CopyFrom(internal(tensor, folder))
    if not found:
        return skeleton.data[record.begin : record.end]
    return encode(record.field, item.SerializeToString())
