"""EASD Viz: entropy-aware speculative decoding, recorded token by token and made visible."""

__version__ = "0.1.0"


class UserError(Exception):
    """A mistake or a limit that the user can act on: says what was expected, what was found, what to do.

    The command line prints it as one line and exits with 2; the UI turns it into ``gr.Error``.
    """
