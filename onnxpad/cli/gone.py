"""Commands and options that there were, and what serves instead of each."""

GONE: dict[tuple[str, str], str] = {
    ("docs", "--html"): "onnxpad docs PAGE, which prints a page as Markdown",
    ("explain", "--svg"): "the drawing that explain prints, or onnxpad show MODEL --html FILE",
    ("fix", "--check"): "onnxpad check, or onnxpad fix --diff, which writes nothing",
    ("rules", ""): "onnxpad rule",
    ("validate", "--time"): "a benchmark, such as onnxruntime_perf_test",
    ("ignore", ""): "per-file-ignores in onnxpad.toml, or --ignore CODE",
    ("config", ""): "fix, check or show, whose reports say which configuration holds",
    ("check", "--baseline"): "per-file-ignores in onnxpad.toml",
    ("check", "--write-baseline"): "per-file-ignores in onnxpad.toml",
}
"""What serves instead, by the command and its option, or "" for the command itself."""

VALUES = {"junit": "sarif, github or json", "link": "copy or inline"}
"""What serves instead of values of options."""


def instead(command: str, option: str = "") -> str:
    """The end of the error about a command or an option that went; empty for any other.

    Args:
        command: The command.
        option: Its option; empty if the command itself is unknown.
    """
    known = (said for (_, name), said in GONE.items() if option and name == option)
    said = GONE.get((command, option)) or next(known, "")
    return f"; use {said}" if said else ""
