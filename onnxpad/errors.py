"""The one exception family: what is wrong, and how to mend it."""

from onnxpad.messages import shortened


class OnnxpadError(Exception):
    """What is wrong and how to mend it, in one line that a user can act on.

    `exit_code` is what the command line exits with, `kind` what its JSON calls such errors.
    """

    exit_code = 2
    kind = "usage"

    def __init__(self, message: str = "") -> None:
        """Keeps the message on one line, whatever names are in it, and short enough to read."""
        super().__init__(shortened(" ".join(message.splitlines())))


class UsageError(OnnxpadError):
    """An option, argument or call that cannot be honoured."""


class MismatchError(UsageError):
    """Sizes that one model does not bear out, though another may.

    Attributes:
        missing: `shapes` or `dims`, and the name there of what the model has not; None where it has
            what is named, and contradicts.
    """

    def __init__(self, message: str, missing: tuple[str, str] | None = None) -> None:
        """Keeps what is missing beside the message."""
        super().__init__(message)
        self.missing = missing


class ModelError(OnnxpadError):
    """A model that cannot be read, or that the specification forbids."""

    kind = "model"


class OutputError(OnnxpadError):
    """A result that cannot be written where it was asked for."""

    kind = "output"


class ValidationError(OnnxpadError):
    """A rewritten model that does not compute what the original computes."""

    exit_code = 3
    kind = "validation"


class ProviderError(OnnxpadError):
    """An execution provider asked for by name that this machine does not have."""

    exit_code = 4
    kind = "provider"
