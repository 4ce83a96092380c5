"""The third step: how much protection, and what it would cost."""

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.advanced_options import AdvancedOptions
from core_mondrian.studio.curve import Curves
from core_mondrian.studio.draft import OF_K
from core_mondrian.studio.file_names import command
from core_mondrian.studio.hierarchy_editor import HierarchyEditor
from core_mondrian.studio.models import ModelRow
from core_mondrian.studio.page_context import PageContext, show_code, show_problem, step
from core_mondrian.studio.protections import of_columns
from core_mondrian.studio.sweep import K, take_value
from core_mondrian.studio.unsupported_keys import names_of


class Choices:
    """k, models, policy, formats; the trade-off curve; the spec."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._rows: list[ModelRow] = []
        self._guarded: list[str] = []

    def build(self) -> None:
        """Make the room; it is filled when there is a table."""
        words = (
            "Every row of the release will look like at least k - 1 others. A larger k "
            "protects more and says less; 5 is common inside an organisation, 11 or "
            "more for what is published."
        )
        with step(3, "How much protection?", words):
            self._room = ui.column().classes("w-full gap-3")
            Curves(self.context, self._take).build()
            self._more_room = ui.column().classes("w-full")
            HierarchyEditor(self.context).build()
            self._rest_room()
            with ui.expansion("The spec: your choices as a file", icon="code").classes(
                "w-full"
            ):
                self._spec = show_code("", "toml").mark("spec")
                self._command = show_code("", "bash")
            self._problem = ui.column().classes("w-full")
        self.context.on_table.append(self._fill)
        self.context.on_change.append(self._show_spec)
        self.context.on_change.append(self._show_guards)
        self.context.on_change.append(self._show_rest)

    def _rest_room(self) -> None:
        with ui.row().classes("studio-note items-center gap-3 w-full") as self._rest:
            self._rest_names = ui.label().classes("studio-name").mark("rest")
            ui.button("Leave them out", on_click=self._leave_out).props(
                "flat dense no-caps"
            )
        self._rest.visible = False

    def _fill(self) -> None:
        self._room.clear()
        with self._room:
            self._k = ui.number(
                "k: rows that look alike, at least",
                value=self.context.draft.k,
                min=1,
                step=1,
                precision=0,
                on_change=lambda event: self._set_k(event.value),
                validation=self._check_k,
            ).classes("w-72")
            self._guards = ui.column().classes("w-full gap-2")
        self._more_room.clear()
        with self._more_room:
            self._more = AdvancedOptions(self.context)
            self._more.build()
        self._guarded = []
        self._rows = []

    def _check_k(self, value: float | None) -> str | None:
        """Return what is wrong with a k, beside the field it is typed in."""
        opened, order = self.context.session.opened, self.context.draft.order
        if value == 1 and order and OF_K not in order:
            return None  # the spec that was opened has none
        if value is None or value < 2:
            return "a whole number, 2 or more; with 1 nothing is protected"
        if opened is not None and value > opened.table.num_rows:
            return f"the table has {opened.table.num_rows:,} rows"
        return None

    def _set_k(self, value: float | None) -> None:
        if value is not None and value >= 1 and int(value) != self.context.draft.k:
            self.context.draft.k = int(value)
            self.context.changed()

    def _take(self, name: str, value: float) -> None:
        """Take a value from the curve, and show it in its field."""
        take_value(self.context.draft, name, value)
        if name == K:
            self._k.set_value(int(value))
        for row in self._rows:
            row.refill()
        self._more.refill()
        self.context.changed()

    def _show_guards(self) -> None:
        """Offer protection for each sensitive column; rebuilt only if these change."""
        wanted = self.context.draft.columns_of("sensitive")
        if self.context.session.opened is None:
            return
        self._more.show()
        if wanted == self._guarded:
            return
        self._guarded = wanted
        self._guards.clear()
        draft = self.context.draft
        self._rows = [
            ModelRow(self.context, draft.guard(name), of_columns(), name)
            for name in wanted
        ]
        with self._guards:
            for name, row in zip(wanted, self._rows, strict=True):
                row.build(f"Nobody learns {name} from their group:")

    def _show_spec(self) -> None:
        opened = self.context.session.opened
        if opened is None:
            return
        self._problem.clear()
        self._spec.set_content(self.context.draft.to_toml())
        draft = self.context.draft
        has_key = bool(draft.columns_of("pseudonym"))
        line = command(
            opened.title, draft.groups, has_key=has_key, suppressed=draft.suppressed
        )
        self._command.set_content(line)
        try:
            self.context.draft.to_spec()
        except MondrianError as error:
            show_problem(self._problem, error)

    def _show_rest(self) -> None:
        """Name what the page has no control for, so that nobody overlooks it."""
        names = names_of(self.context.draft.rest)
        self._rest.visible = bool(names)
        self._rest_names.set_text(
            f"Also in the spec, as the file has it: {', '.join(names)}. "
            "The page has no control for this."
        )

    def _leave_out(self) -> None:
        self.context.draft.rest.clear()
        self.context.changed()
