"""What every command says and writes, recorded and compared: `python -m tests.behaviour`."""
