"""What is said while a release is made, and of the finished one; no cell of it."""

import json
import math
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from core_mondrian.errors import is_interrupt
from core_mondrian.tables.files.staging import published

if TYPE_CHECKING:
    from core_mondrian.engine.search.equity import Balance
    from core_mondrian.measures.groups import GroupMeasures
    from core_mondrian.measures.utility import ColumnMeasures, Measures
    from core_mondrian.release.result import AnyRelease
    from core_mondrian.verification.verify import Verification


FOR_OWNER = "yours alone, do not pass it on"
FOR_ANYONE = "for anyone"
_NEARLY_ALL = 0.9
"""Share of a column's information whose loss is worth a warning."""
_MUCH_DISK = 100 << 20
"""Bytes on disk that are worth a line."""


def print_release(release: "AnyRelease", measures: "Measures | None") -> None:
    """Say on stderr what was released."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    suppressed, budget = release.n_suppressed, release.budget
    released = release.n_rows - suppressed
    bad = f"{release.n_bad:,} bad left out, " if release.n_bad else ""
    console.print(
        f"rows        {release.n_rows + release.n_bad:,} in, {bad}{released:,} "
        f"released, {suppressed:,} suppressed (budget {budget:,})"
    )
    if release.n_blanked:
        console.print(f"blanked     {release.n_blanked:,} cells")
    if release.disk_bytes >= _MUCH_DISK:
        used = f"{release.disk_bytes / (1 << 30):.1f} GB"
        console.print(f"disk        {used} at most, in a folder that is gone")
    console.print(f"policy      {policy_text(release)}")
    print_verification(release.verification)
    if measures is not None:
        console.print(_loss_table(measures))
    for line in _comparisons(release, measures):
        console.print(line, soft_wrap=True)
    console.print(f"digest      {release.digest}", soft_wrap=True)
    if release.is_split and release.allocation == "random":
        console.print(
            "key         drawn for this run; with another one, other equal rows are in "
            "the same classes",
            soft_wrap=True,
        )
    for concern in release.warnings:
        if not concern.accepted:
            console.print(
                f"warning     {escape_controls(concern.text)}", soft_wrap=True
            )


def _comparisons(release: "AnyRelease", measures: "Measures | None") -> Iterator[str]:
    """Yield what the loss is to be compared with, if that was asked for."""
    if release.known_bound is not None:
        lost = "" if measures is None else f"; this one loses {measures.loss:.4f}"
        yield f"bound       {release.known_bound}{lost}"
    if release.column_weights is not None:
        yield f"for         {_target_text(release)}"
    if release.balance is not None:
        yield f"equity      {_balance_text(release.balance)}"
    for column in () if measures is None else measures.columns:
        if column.ncp is not None and column.ncp >= _NEARLY_ALL:
            lost = f"{escape_controls(repr(column.name))} lost {column.ncp:.0%}"
            yield f"warning     {lost} of its information; {_remedy(release, column)}"


def _target_text(release: "AnyRelease") -> str:
    """Return what the columns counted in a release that was made for a model."""
    weights = sorted((release.column_weights or {}).items(), key=lambda one: -one[1])
    texts = ", ".join(f"{name} {weight:g}" for name, weight in weights)
    return escape_controls(f"{release.spec.target}; weights: {texts}")


def _remedy(release: "AnyRelease", column: "ColumnMeasures") -> str:
    """Return what would keep more of a column that lost nearly everything."""
    is_mistyped = ("text", column.name) in {(x.why, x.column) for x in release.warnings}
    if is_mistyped:  # a prefix of a date or number would be no better
        return "see the warning about its type below"
    if column.kind == "category" and release.spec.is_flat(column.name):
        option = shlex.quote(escape_controls(f"{column.name}=prefix:2"))
        return f"--hierarchy {option} (or a file) shows more than *"
    return "a smaller k, fewer quasi-identifiers, or --weight make it keep more"


def policy_text(release: "AnyRelease") -> str:
    """Return how the cuts were chosen."""
    from core_mondrian.spec.policies import BestPolicy, OriginalPolicy

    policy = release.spec.policy
    if isinstance(policy, BestPolicy):
        disjoint = ", disjoint" if policy.disjoint else ""
        is_auto = policy.effort == "auto"
        effort = f"auto: {release.effort}" if is_auto else policy.effort
        return f"best, effort {effort}{disjoint} (beta {release.beta:g})"
    if isinstance(policy, OriginalPolicy):
        return f"original, variant {policy.variant}"
    return policy.name


def print_verification(verification: "Verification") -> None:
    """Say on stderr what the recount found."""
    if verification.n_persons is not None:
        echo(f"persons     {verification.n_persons:,} in classes")
    smallest = verification.smallest
    echo(f"classes     {verification.n_classes:,}, the smallest has {smallest}")
    for model in verification.models:
        reached = (
            f"{model.reached:.9g}" if math.isfinite(model.reached) else "vacuously"
        )
        echo(f"verified    {model.name} (reached {reached})")


def _balance_text(balance: "Balance") -> str:
    """Return what equity did, and what it cost."""
    text = (
        f"the worst group loses {balance.worst:.4f} (was {balance.worst_before:.4f}), "
        f"all rows {balance.loss:.4f} (was {balance.loss_before:.4f})"
    )
    if balance.is_reached:
        return text
    asked = (balance.bound or 0.0) * balance.loss_before
    return f"{text}; the bound of {asked:.4f} was NOT reached"


def print_group_losses(name: str, groups: "tuple[GroupMeasures, ...]") -> None:
    """Show on stderr what each group lost."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="lost by group", box=None)
    table.add_column(printable(name))
    for title in ("rows", "suppressed", "NCP", "times all"):
        table.add_column(title, justify="right")
    for one in groups:
        table.add_row(
            printable(one.group),
            str(one.n_rows),
            f"{one.share_suppressed:.2%}",
            f"{one.loss:.4f}",
            "-" if one.ratio is None else f"{one.ratio:.2f}",
        )
    Console(stderr=True, markup=False, highlight=False, emoji=False).print(table)


def _loss_table(measures: "Measures") -> Any:  # noqa: ANN401  # a rich table
    from rich.table import Table

    table = Table("column", "kind", title="kept (RILM) and lost (NCP)", box=None)
    weighted = any(column.weight != 1.0 for column in measures.columns)
    for title in ("RILM", "NCP", "weight")[: 2 + weighted]:
        table.add_column(title, justify="right")
    for column in measures.columns:
        values = (column.rilm, column.ncp)
        texts = ["-" if value is None else f"{value:.3f}" for value in values]
        texts += [f"{column.weight:g}"] * weighted
        table.add_row(printable(column.name), column.kind, *texts)
    return table


def printable(name: str) -> Any:  # noqa: ANN401  # a rich text
    """Return a column name as text that cannot move the cursor or be markup."""
    from rich.text import Text

    return Text(escape_controls(name), overflow="fold")


def echo(text: str) -> None:
    """Print a message on stderr; names in it may be anything, and act on nothing."""
    for line in text.split("\n"):
        typer.echo(escape_controls(line), err=True)


@contextmanager
def written_stays() -> Iterator[None]:
    """Let an interrupt end nothing but what is said, once a release is in its place."""
    before = len(published)
    try:
        yield
    except BaseException as error:
        if not is_interrupt(error) or len(published) == before:
            raise
        echo("interrupted after the release was written")


def json_line(value: object) -> str:
    """Return JSON in one line, with letters of all languages and nothing that acts."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(x if x.isprintable() else json.dumps(x)[1:-1] for x in text)


def escape_controls(text: str, *, is_plain: bool = False) -> str:
    """Return a text without what acts on a terminal; ``is_plain``: in ASCII."""
    is_safe = text.isprintable() and (text.isascii() or not is_plain)
    return text if is_safe else ascii(text)[1:-1]
