"""The tail that commands share: one JSON object or a text, then what else is said."""

from collections.abc import Callable
from dataclasses import dataclass

import typer

from core_mondrian.cli.summary import json_line


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command found, and how it is given."""

    plain: Callable[[], object]
    """What is one JSON object on the standard output, if that is asked for."""
    show: Callable[[], None] = _nothing
    """Shows it there to people, if it is not."""
    print_notes: Callable[[], None] = _nothing
    """Says on stderr what there is to say in both cases."""
    check: Callable[[], None] = _nothing
    """Fails, once all is said, if that is what was found."""

    def print(self, *, as_json: bool) -> None:
        """Give the reply; ``as_json`` is the option `--json`, of every command."""
        if as_json:
            typer.echo(json_line(self.plain()))
        else:
            self.show()
        self.print_notes()
        self.check()
