"""The console script `longpass`, which is `python -m longpass` too."""

import sys

from longpass._extras import explain_missing
from longpass._signals import ignore_interrupts, leave_on_signals, survive_closed_terminal


def main() -> None:
    """Run the command that this process was started for. Without the extra `cli`, say so."""
    # Before the first library is imported: Ctrl-C ends even that without a traceback.
    leave_on_signals()
    survive_closed_terminal()
    try:
        from longpass.cli import main as run_command
    except ModuleNotFoundError as error:
        sys.exit(f"longpass: {explain_missing(error, 'the command line')}")
    try:
        run_command()
    finally:
        ignore_interrupts()


if __name__ == "__main__":
    main()
