"""One column of the list: its role, how it is read, and what it gives away."""

import math
from collections.abc import Callable
from typing import Final

import pyarrow as pa
from nicegui import ui

from core_mondrian.analysis.inspection import InspectedColumn
from core_mondrian.analysis.suggest import Guess
from core_mondrian.spec.keys import CHOICES
from core_mondrian.studio.advanced_options import CATEGORIES, NUMBERS, with_titles
from core_mondrian.studio.draft import DEFAULT, ROLES, Chosen
from core_mondrian.studio.page_context import PageContext, named
from core_mondrian.studio.risks import RiskCounts, alone_text, share_text, without_text
from core_mondrian.studio.trees import is_number

_AS_ALL: Final = ""
"""Released as all others are."""
_FLAT: Final = {"kind": "flat"}


class ColumnRow:
    """What a column is, and what may be said of it."""

    def __init__(
        self,
        context: PageContext,
        column: InspectedColumn,
        guess: Guess,
        assign: Callable[[str, Chosen], None],
    ) -> None:
        self.context = context
        self.name = column.name
        self._column = column
        self._guess = guess
        self._assign = assign
        self._shown: tuple[bool, str] | None = None
        """Whether others may know it and how it is read, as the row shows it."""
        self._select: ui.select | None = None
        self._is_open = False

    @property
    def _state(self) -> tuple[bool, str]:
        return self._is_known, self._reading

    @property
    def _is_known(self) -> bool:
        return self.context.draft.roles[self.name] == "quasi-identifier"

    @property
    def _reading(self) -> str:
        entry = self.context.draft.hierarchies.get(self.name)
        if not entry:
            return "number"
        return "flat" if entry == _FLAT else "groups"

    @property
    def _is_number(self) -> bool:
        opened = self.context.session.opened
        return opened is not None and is_number(opened, self.name)

    def build(self) -> None:
        """Show the column."""
        with ui.column().classes("studio-column w-full gap-1"):
            with ui.row().classes("w-full items-start gap-x-0 gap-y-1"):
                with ui.column().classes("gap-0 col-12 col-sm-7 sm:pr-6"):
                    ui.label(self.name).classes("studio-name")
                    ui.label(self._facts()).classes("studio-faint text-sm")
                    self._figures = ui.label().classes("studio-faint text-sm")
                    self._bar = ui.linear_progress(0, show_value=False, size="4px")
                    self._bar.classes("q-my-xs").props("rounded")
                with ui.column().classes("gap-0 col-12 col-sm-5"):
                    self._choose_role()
                    self._own = ui.row().classes("w-full")
            self._more = ui.row().classes("w-full items-start gap-x-6 gap-y-1")
        self.follow()

    def _facts(self) -> str:
        opened = self.context.session.opened
        n_rows = 0 if opened is None else opened.table.num_rows
        alone = alone_text(self._column, n_rows)
        return " · ".join(filter(None, (self._guess.why, alone)))

    def _choose_role(self) -> None:
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            role = ui.select(
                ROLES,
                value=self.context.draft.roles[self.name],
                on_change=lambda event: self._assign(self.name, event.value),
            )
            role.props("dense outlined options-dense").classes("col-grow")
            named(role, f"role of {self.name}")
            self._button = ui.button(icon="tune", on_click=self._toggle)
            self._button.props("flat dense round")
            named(self._button, f"more of {self.name}")
            with self._button:
                ui.tooltip("how it is released, and how much it matters")

    def follow(self) -> None:
        """Show what is chosen if that is something else by now."""
        if self._shown == self._state:
            return
        was_known = self._shown is not None and self._shown[0]
        self._shown = self._state
        if self._is_known and was_known:
            if self._select is not None:
                self._select.set_options(self._readings, value=self._reading)
        else:
            self._offer()
        self._show_more()

    def _offer(self) -> None:
        """Offer what there is to choose for a column that others may know."""
        self._own.clear()
        # The room of the figures is there before them, so that no row moves away from
        # under the mouse.
        self._figures.visible = self._bar.visible = self._is_known
        self._figures.set_text("counting …")
        self._fill_bar(0, "counting")
        is_offered = self._own.visible = self._is_known and self._is_number
        self._select = None
        # Where there is nothing more, the button's room stays, so that selects align.
        self._button.classes(**{"remove" if self._is_known else "add": "invisible"})
        if not is_offered:
            return
        with self._own:
            self._offer_reading()

    @property
    def _readings(self) -> dict[str, str]:
        opened = self.context.session.opened
        kind = None if opened is None else opened.table.schema.field(self.name).type
        is_date = kind is not None and pa.types.is_temporal(kind)
        readings = {
            "number": f"read as a {'date' if is_date else 'number'}",
            "flat": "read as names (codes)",
        }
        if self._reading == "groups":
            readings["groups"] = "read as names in groups"
        return readings

    def _offer_reading(self) -> None:
        self._select = ui.select(
            self._readings,
            value=self._reading,
            on_change=lambda event: self._read_as(event.value),
        )
        self._select.props("dense options-dense borderless").classes("text-sm")
        named(self._select, f"how {self.name} is read")

    def _read_as(self, how: str) -> None:
        if how == self._reading:
            return
        draft = self.context.draft
        if how == "number":
            draft.hierarchies.pop(self.name, None)
            draft.categories_of.pop(self.name, None)
        elif how == "flat":
            draft.hierarchies[self.name] = dict(_FLAT)
            draft.numbers_of.pop(self.name, None)
        self.context.changed()

    def _toggle(self) -> None:
        self._is_open = not self._is_open
        self._show_more()

    def _show_more(self) -> None:
        self._more.clear()
        self._more.visible = self._is_known and self._is_open
        self._button.props["aria-expanded"] = str(self._more.visible).lower()
        self._button.update()
        if self._more.visible:
            with self._more:
                self._offer_format()
                self._offer_weight()

    def _offer_format(self) -> None:
        if self.name == DEFAULT:  # which a spec file has no word for
            return
        draft = self.context.draft
        is_quantity = self._is_number and self._reading == "number"
        own = draft.numbers_of if is_quantity else draft.categories_of
        known = (NUMBERS, "numbers") if is_quantity else (CATEGORIES, "categories")
        formats = {_AS_ALL: "as all others", **with_titles(known[0], CHOICES[known[1]])}

        def take(how: str) -> None:
            if how == _AS_ALL:
                own.pop(self.name, None)
            else:
                own[self.name] = how
            self.context.changed()

        choice = ui.select(
            formats,
            label="Released",
            value=own.get(self.name, _AS_ALL),
            on_change=lambda event: take(event.value),
        )
        choice.props("dense options-dense").classes("col-12 col-sm-5")
        named(choice, f"how {self.name} is released")

    def _offer_weight(self) -> None:
        weight = ui.number(
            "A loss here matters … times as much",
            value=self.context.draft.weights.get(self.name, 1),
            min=0,
            step=0.5,
            validation={"a number above 0": _is_weight},
            on_change=lambda event: self._weigh(event.value),
        )
        weight.props("dense debounce=400 hide-bottom-space").classes("col-12 col-sm-5")
        named(weight, f"how much {self.name} matters")

    def _weigh(self, value: float | None) -> None:
        if not _is_weight(value):
            return
        weights = self.context.draft.weights
        if value in (None, 1):
            weights.pop(self.name, None)
        else:
            weights[self.name] = float(value or 1)
        self.context.changed()

    def show_figures(self, counts: RiskCounts | None) -> None:
        """Say what the column adds to what the others give away."""
        n_added = None if counts is None else counts.n_added(self.name)
        if counts is None or counts.total is None or n_added is None:
            return  # the last figures stay until there are others
        n = counts.total.n_people
        self._figures.set_text(without_text(counts.total, counts.n_without[self.name]))
        share = f"{share_text(n_added, n)} of the {counts.who}"
        self._fill_bar(n_added / n, f"{share} are unique only because of it")

    def _fill_bar(self, share: float, words: str) -> None:
        label = f"{self.name}: {words}"
        self._bar.value = share
        if self._bar.props.get("aria-label") != label:
            named(self._bar, label)
            self._bar.update()


def _is_weight(value: float | None) -> bool:
    return value is None or 0 < value < math.inf
