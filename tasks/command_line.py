"""What the commands in scripts/ have in common: errors in one line, and the exit status."""

import os
import sys
from collections.abc import Callable

from tasks.files import explain
from zoo.errors import UserError


def exit_status(command: Callable[[], None], interrupted: str = "interrupted") -> int:
    """Runs a command: 0, 2 for bad input or what the system refuses, 130 after Ctrl-C, with a line on stderr."""
    try:
        command()
    except UserError as error:
        if os.environ.get("RANK", "0") == "0":  # all processes find the same fault
            print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 130
    return 0
