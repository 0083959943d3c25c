"""What commands say is what is kept; after a change that is meant: `python -m tests.snapshots`."""

import difflib

import pytest

from tests.snapshots.made import kept, made


@pytest.mark.parametrize("end", ["", ".cases"])
def test_what_commands_say(end: str) -> None:
    was, now = kept(), made()
    assert was.keys() == now.keys()
    for name, text in was.items():
        if name.endswith(".cases") is not bool(end):
            continue
        lines = text.split("\n"), now[name].split("\n")
        if differs := list(difflib.unified_diff(*lines, f"kept {name}", "said", lineterm="")):
            pytest.fail("\n".join([*differs, "meant? python -m tests.snapshots"]), pytrace=False)
