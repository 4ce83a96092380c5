"""More choices: policy, formats, missing values and rows that may be left out."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from nicegui import ui

from core_mondrian.errors import SpecError
from core_mondrian.spec.keys import CHOICES
from core_mondrian.spec.policies import EFFORTS, POLICIES
from core_mondrian.spec.suppression import parse_suppression
from core_mondrian.studio.draft import AS_POLICY, Draft
from core_mondrian.studio.models import ModelRow
from core_mondrian.studio.page_context import PageContext, named
from core_mondrian.studio.protections import of_tables

_POLICIES: Final = {
    "best": "best: looks for the cuts that lose least (default)",
    "paper": "paper: Core Mondrian as published",
    "original": "original: the classic Mondrian",
}
_EFFORTS: Final = {
    "auto": "auto: as long as the size of the table allows (default)",
    "fast": "fast: the first good answer",
    "light": "light: a little longer, loses less",
    "strong": "strong: several times as long, loses still less",
    "thorough": "thorough: longer again",
    "max": "max: ten times as long, loses least",
}
NUMBERS: Final = {
    "interval": "ranges: [20, 25]",
    "bounds": "two columns: lowest, highest",
    "struct": "lowest and highest in one cell",
    "mean": "the mean of the group",
    "median": "the median of the group",
    "midpoint": "the middle of the range",
    "sample": "a value drawn from the group",
}
CATEGORIES: Final = {
    "label": "one label, * if they differ",
    "set": "all values: {a, b}",
}
_MISSING: Final = {
    AS_POLICY: "as the policy has it",
    "pattern": "rows that lack the same look alike",
    "value": "a value like others",
}
_SUPPRESSED: Final = {
    # "separate" gives them back to the user as well, for which the page has no place.
    "drop": "left out of the release",
    "blank": "kept, without what others may know",
}
_CHANGED: Final = {
    "policy": "how cuts are chosen",
    "effort": "how long to search",
    "numbers": "what numbers become",
    "categories": "what categories become",
    "missing": "missing values",
    "suppressed": "rows that cannot be grouped",
    "null_values": "texts that mean missing",
    "suppress": "rows that may be left out",
    "groups": "groups",
    "is_nice": "round numbers",
    "is_equal": "equal losses",
    "further": "a further promise",
}
"""What each field of the draft is called where only its name is told."""


class AdvancedOptions:
    """Choices that most people leave as they are."""

    def __init__(self, context: PageContext) -> None:
        self.context = context

    def build(self) -> None:
        """Show what is chosen; while it is closed, what is not as it comes."""
        self._title = ui.expansion("More choices", icon="tune").classes("w-full")
        with self._title:
            with ui.grid().classes("w-full grid-cols-1 sm:grid-cols-2 gap-x-6 gap-y-2"):
                self._selects()
                self._texts()
                self._groups()
            self._further = ModelRow(
                self.context, self.context.draft.further, of_tables()
            )
            self._further.build("A further promise for the whole table")
        self.show()

    def show(self) -> None:
        """Tell what is not as it comes, and offer only what counts."""
        changed = find_changed(self.context.draft)
        note = f"changed: {', '.join(changed)}" if changed else ""
        if self._title.props.get("caption", "") != note:
            self._title.props["caption"] = note
            self._title.update()
        is_best = self.context.draft.policy == "best"
        self._effort.set_enabled(is_best)
        self._equal.set_enabled(is_best and self.context.draft.groups is not None)

    def refill(self) -> None:
        """Show parameters that were set elsewhere."""
        self._further.refill()

    def _selects(self) -> None:
        self._select("policy", "How cuts are chosen", with_titles(_POLICIES, POLICIES))
        self._effort = self._select(
            "effort", "How long to search (policy best)", with_titles(_EFFORTS, EFFORTS)
        )
        numbers = with_titles(NUMBERS, CHOICES["numbers"])
        self._select("numbers", "Numbers become", numbers)
        categories = with_titles(CATEGORIES, CHOICES["categories"])
        self._select("categories", "Categories become", categories)
        self._select("missing", "Missing values are", _MISSING)
        self._select("suppressed", "Rows that cannot be grouped are", _SUPPRESSED)

    def _texts(self) -> None:
        draft = self.context.draft
        ui.input(
            "Texts that mean missing, such as ?, NA (of CSV files)",
            value=draft.null_values,
            on_change=self._set("null_values"),
        ).props("debounce=400")
        ui.input(
            "Rows that may be left out, such as 1% or 20",
            value=draft.suppress,
            on_change=self._set("suppress"),
            validation=_check_suppress,
        ).props("debounce=400")

    def _groups(self) -> None:
        draft, opened = self.context.draft, self.context.session.opened
        groups = ui.select(
            [] if opened is None else opened.table.column_names,
            label="Show what each group of this column lost",
            value=draft.groups,
            clearable=True,
            on_change=self._set("groups"),
        )
        named(groups, "groups")
        self._equal = ui.switch(
            "These groups should lose about as much as each other",
            value=draft.is_equal,
            on_change=self._set("is_equal"),
        )
        ui.switch(
            "Round ranges to round numbers",
            value=draft.is_nice,
            on_change=self._set("is_nice"),
        )

    def _select(self, name: str, label: str, options: dict[str, str]) -> ui.select:
        value = getattr(self.context.draft, name)
        # A spec that was opened may ask for what is not offered here.
        shown = options if value in options else {**options, value: value}
        return ui.select(shown, label=label, value=value, on_change=self._set(name))

    def _set(self, name: str) -> Callable[[Any], None]:
        """Return what takes a new value of one of the draft's fields."""

        def take(event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
            setattr(self.context.draft, name, event.value)
            self.context.changed()

        return take


def _check_suppress(text: str) -> str | None:
    """Return what is wrong with a number of rows, beside the field it is typed in."""
    try:
        if text.strip():
            parse_suppression(text)
    except SpecError:
        return "a share of the rows, such as 1%, or how many, such as 20"
    return None


def find_changed(draft: Draft) -> list[str]:
    """Return which of these choices are not as they come."""
    first = Draft()
    return [
        words
        for name, words in _CHANGED.items()
        if getattr(draft, name) != getattr(first, name)
    ]


def with_titles(titles: dict[str, str], known: Iterable[str]) -> dict[str, str]:
    """Return a title for every choice there is; a new one is its own title."""
    return {name: titles.get(name, name) for name in known}
