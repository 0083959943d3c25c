"""Keeps anew what commands say and write of small models: read the diff before it is committed."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests import run_command
from tests.golden.kept import FOLDER, files, kept, said


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    changed = 0
    for path, lines in files().items():
        texts = []
        for line in lines:
            with tempfile.TemporaryDirectory() as folder:
                texts.append(said(line, Path(folder).resolve()))
            changed += kept(path).get(line) != texts[-1]
        path.write_text("".join(texts), encoding="utf-8")
    for path in set(FOLDER.iterdir()) - files().keys():
        path.unlink()
    print(f"{changed} of {sum(map(len, files().values()))} command lines say something else now")
    return 0


if __name__ == "__main__":
    run_command(main)
