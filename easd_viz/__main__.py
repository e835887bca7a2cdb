"""``python -m easd_viz VERB``: the command line. Bad input is one line on standard error and exit code 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from easd_viz import UserError, __version__
from easd_viz.cli import branch, calibrate, check, overlap, replay, show, sweep, trace

VERBS = (trace, show, check, sweep, calibrate, replay, branch, overlap)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    parser = Parser(prog="easd_viz", description="Entropy-aware speculative decoding: run it, record it, read the traces.")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)
    for verb in VERBS:
        verb.add_parser(verbs)
    args = parser.parse_args(argv)
    try:
        code: int = args.handler(args)
    except UserError as error:
        print(f"easd_viz {args.verb}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
