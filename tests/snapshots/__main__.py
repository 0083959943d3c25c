"""Keeps anew what each command says of a small model: read the diff before it is committed."""

from tests import run_command
from tests.snapshots.made import FOLDER, kept, made


def main() -> int:
    found = made()
    for name in kept().keys() - found.keys():
        (FOLDER / f"{name}.txt").unlink()
    for name, text in found.items():
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_command(main)
