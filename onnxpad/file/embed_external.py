"""Embeds external data into the model file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import onnx

from onnxpad.errors import OutputError
from onnxpad.file.external_data import external_tensors, internal, reference
from onnxpad.file.skeleton import GRAPH_PARTS, MODEL_PARTS, Skeleton
from onnxpad.file.wire import Chunk, Record, encode

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
            # Searching the bytes is faster than looking into every node.
            if b"location" in part.SerializeToString():
                holder = onnx.ModelProto()
                item = getattr(holder.graph, name).add()
                replaced[record] = [_filled(skeleton, record, holder, item, folder)]
    for record in skeleton.model:
        if record.field in MODEL_PARTS and record.delimited:
            holder = onnx.ModelProto()
            item = getattr(holder, MODEL_PARTS[record.field]).add()
            replaced[record] = [_filled(skeleton, record, holder, item, folder)]
    return skeleton.splice(replaced, ())


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
