"""The list of ONNX's schemas: `python -m tests.graph.test_schema` writes it, of the onnx here."""

import json
from itertools import groupby

import onnx
import pytest

from onnxpad.graph import model
from tests.support import ROOT

NEWEST = onnx.defs.onnx_opset_version()


def listed() -> str:
    """The list as it should be."""
    known = [each for each in onnx.defs.get_all_schemas_with_history() if not each.domain]
    known.sort(key=lambda each: (each.name, -each.since_version))
    lines = [f"{NEWEST}"]
    for op, versions in groupby(known, lambda each: each.name):
        released = (each for each in versions if each.since_version <= NEWEST)
        lines.append(f"{op} {json.dumps([*map(model.described, released)])}")
    return "\n".join([*lines, ""])


@pytest.mark.skipif(int(model._listed()[0]) > NEWEST, reason="the list is of a newer onnx")
def test_it_is_as_onnx_has_it() -> None:
    assert model._listed()[1:] == listed().splitlines()[1:]


def test_what_is_newer_is_asked_of_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = model.schema_of.__wrapped__
    kept = [asked(op, 22) for op in ("Conv", "BatchNormalization", "Nothing")]
    monkeypatch.setattr(model, "_listed", lambda: ["21"])
    found = [asked(op, 22) for op in ("Conv", "BatchNormalization", "Nothing")]
    assert json.dumps(found) == json.dumps(kept)


if __name__ == "__main__":
    (ROOT / "onnxpad" / "graph" / "schemas.txt").write_text(listed(), encoding="ascii")
