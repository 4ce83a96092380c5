"""A privacy model on the page: which one, and its parameters."""

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.models.load import model_from_mapping
from core_mondrian.report.facts import meaning_of
from core_mondrian.studio.draft import Protection
from core_mondrian.studio.page_context import PageContext
from core_mondrian.studio.protections import NONE, Parameter, find_parameters, parse
from core_mondrian.studio.uploads import offer_upload
from core_mondrian.tables.files.kinds import FORMATS

HIERARCHY_FILES: Final = (".csv", ".toml", ".json")
_TITLES: Final = {
    "distinct-l-diversity": "several values in every group (l-diversity)",
    "t-closeness": "spread as in the whole table (t-closeness)",
    NONE: "no protection of its own",
}
_LABELS: Final = {
    "l": "l: values, at least",
    "t": "t: how far, 0 to 1",
    "values": "values, with commas (empty: all)",
    "missing": "missing is",
}


class ModelRow:
    """Chooses a model for ``guard`` and fills in what it needs."""

    def __init__(
        self,
        context: PageContext,
        guard: Protection,
        models: list[str],
        column: str | None = None,
    ) -> None:
        self.context = context
        self.guard = guard
        self._models = models
        self._column = column

    def build(self, label: str) -> None:
        """Show what is chosen."""
        none = _TITLES[NONE] if self._column is not None else NONE
        titles = {name: _TITLES.get(name, name) for name in self._models}
        with ui.column().classes("w-full gap-1"):
            with ui.row().classes("items-center gap-3 w-full"):
                ui.select(
                    {**titles, NONE: none},
                    label=label,
                    value=self.guard.model,
                    on_change=lambda event: self._choose(event.value),
                ).classes("w-96 max-w-full")
                self._fields = ui.row().classes("items-center gap-3")
            self._meaning = ui.label().classes("studio-faint")
            self._problem = ui.column().classes("w-full")
        self._fill()

    def _choose(self, model: str) -> None:
        self.guard.take(model)
        self._problem.clear()
        self._fill()
        self.context.changed()

    def refill(self) -> None:
        """Show parameters that were set elsewhere."""
        if self.guard.model != NONE:
            self._fill()

    def _fill(self) -> None:
        self._fields.clear()
        with self._fields:
            if self.guard.model != NONE:
                for parameter in find_parameters(self.guard.model):
                    self._field(parameter)
        self._describe_model()

    def _field(self, one: Parameter) -> None:
        value = self.guard.values.get(one.name, one.default)
        label = _LABELS.get(one.name, one.name)
        take = self._taker(one)
        if one.kind == "choice":
            choice = ui.select(
                list(one.options), label=label, value=value, on_change=take
            )
            choice.classes("w-36")
        elif one.kind == "values":
            shown = ", ".join(str(item) for item in value or ())
            ui.input(label, value=shown, on_change=take).props("debounce=400")
        elif one.kind == "file":
            is_tree = one.name == "hierarchy"
            suffixes = HIERARCHY_FILES if is_tree else tuple(FORMATS)
            title = f"{one.name}: {value or 'choose a file'}"
            offer_upload(self.context, title, suffixes, self._put(one), self._problem)
        else:
            whole = {"precision": 0} if one.kind == "whole" else {"step": 0.05}
            ui.number(label, value=value, on_change=take, **whole).classes("w-36")

    def _taker(self, one: Parameter) -> Callable[[Any], None]:
        def take(event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
            value = parse(one.kind, event.value)
            if value is not None:
                self.guard.values[one.name] = value
                self._describe_model()
                self.context.changed()

        return take

    def _put(self, one: Parameter) -> Callable[[str], None]:
        def put(name: str) -> None:
            self.guard.values[one.name] = name
            self._fill()
            self.context.changed()

        return put

    def _describe_model(self) -> None:
        """Say in a sentence what the model asks for, if it can be asked already."""
        text = ""
        for asked in self.guard.requested_models():
            of_column = {} if self._column is None else {"sensitive": self._column}
            try:
                model = model_from_mapping(asked | of_column, self.context.draft.folder)
                text = meaning_of(model)
            except MondrianError:
                text = ""  # the spec's problem is told below
        self._meaning.set_text(text)
