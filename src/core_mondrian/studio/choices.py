"""The third step: how much protection, and what it would cost."""

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.advanced_options import More
from core_mondrian.studio.curve import Curves
from core_mondrian.studio.draft import OF_K
from core_mondrian.studio.hierarchy_editor import Coarser
from core_mondrian.studio.keys import KEY_FILE
from core_mondrian.studio.models import ModelRow
from core_mondrian.studio.page_context import Desk, show_code, show_problem, step
from core_mondrian.studio.protections import of_columns
from core_mondrian.studio.sweep import K, take_value
from core_mondrian.studio.unsupported_keys import names_of


class Choices:
    """k, models, policy, formats; the trade-off curve; the spec."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
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
            Curves(self.desk, self._take).build()
            self._more_room = ui.column().classes("w-full")
            Coarser(self.desk).build()
            self._rest_room()
            with ui.expansion("The spec: your choices as a file", icon="code").classes(
                "w-full"
            ):
                self._spec = show_code("", "toml").mark("spec")
                self._command = show_code("", "bash")
            self._problem = ui.column().classes("w-full")
        self.desk.on_table.append(self._fill)
        self.desk.on_change.append(self._show_spec)
        self.desk.on_change.append(self._show_guards)
        self.desk.on_change.append(self._show_rest)

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
                value=self.desk.draft.k,
                min=1,
                step=1,
                precision=0,
                on_change=lambda event: self._set_k(event.value),
                validation=self._check_k,
            ).classes("w-72")
            self._guards = ui.column().classes("w-full gap-2")
        self._more_room.clear()
        with self._more_room:
            self._more = More(self.desk)
            self._more.build()
        self._guarded = []
        self._rows = []

    def _check_k(self, value: float | None) -> str | None:
        """Return what is wrong with a k, beside the field it is typed in."""
        opened, order = self.desk.session.opened, self.desk.draft.order
        if value == 1 and order and OF_K not in order:
            return None  # the spec that was opened has none
        if value is None or value < 2:
            return "a whole number, 2 or more; with 1 nothing is protected"
        if opened is not None and value > opened.table.num_rows:
            return f"the table has {opened.table.num_rows:,} rows"
        return None

    def _set_k(self, value: float | None) -> None:
        if value is not None and value >= 1 and int(value) != self.desk.draft.k:
            self.desk.draft.k = int(value)
            self.desk.changed()

    def _take(self, name: str, value: float) -> None:
        """Take a value from the curve, and show it in its field."""
        take_value(self.desk.draft, name, value)
        if name == K:
            self._k.set_value(int(value))
        for row in self._rows:
            row.refill()
        self._more.refill()
        self.desk.changed()

    def _show_guards(self) -> None:
        """Offer protection for each sensitive column; rebuilt only if these change."""
        wanted = self.desk.draft.columns_of("sensitive")
        if self.desk.session.opened is None:
            return
        self._more.show()
        if wanted == self._guarded:
            return
        self._guarded = wanted
        self._guards.clear()
        draft = self.desk.draft
        self._rows = [
            ModelRow(self.desk, draft.guard(name), of_columns(), name)
            for name in wanted
        ]
        with self._guards:
            for name, row in zip(wanted, self._rows, strict=True):
                row.build(f"Nobody learns {name} from their group:")

    def _show_spec(self) -> None:
        opened = self.desk.session.opened
        if opened is None:
            return
        self._problem.clear()
        self._spec.set_content(self.desk.draft.to_toml())
        draft = self.desk.draft
        has_key = bool(draft.columns_of("pseudonym"))
        line = command(opened.title, draft.groups, has_key=has_key)
        if draft.suppressed == "separate":
            line += " --suppressed-file left-out.csv"
        self._command.set_content(line)
        try:
            self.desk.draft.to_spec()
        except MondrianError as error:
            show_problem(self._problem, error)

    def _show_rest(self) -> None:
        """Name what the page has no control for, so that nobody overlooks it."""
        names = names_of(self.desk.draft.rest)
        self._rest.visible = bool(names)
        self._rest_names.set_text(
            f"Also in the spec, as the file has it: {', '.join(names)}. "
            "The page has no control for this."
        )

    def _leave_out(self) -> None:
        self.desk.draft.rest.clear()
        self.desk.changed()


def command(title: str, groups: str | None, *, has_key: bool) -> str:
    """Return the command line that does the same."""
    import shlex

    by = "" if groups is None else f" --by {shlex.quote(groups)}"
    key = f" --key-file {KEY_FILE}" if has_key else ""
    source = shlex.quote(title)
    return f"core-mondrian anonymize {source} release.csv --spec spec.toml{key}{by}"
