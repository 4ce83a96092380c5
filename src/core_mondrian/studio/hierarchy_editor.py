"""How values become coarser: a hierarchy per column, its tree, groups by dragging."""

from typing import Any, Final

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.studio.jobs import Job
from core_mondrian.studio.models import HIERARCHY_FILES
from core_mondrian.studio.page_context import PageContext, named, show_problem
from core_mondrian.studio.trees import (
    Groups,
    add_group,
    as_entry,
    draw_nodes,
    find_tree,
    first_groups,
    groups_in,
    is_number,
    move,
    parse_entry,
    rename,
    typed_of,
)
from core_mondrian.studio.uploads import offer_upload

_KINDS: Final = {
    "none": "no groups: a value, or * if they differ",
    "flat": "codes: a value, or * if they differ",
    "prefix": "codes: the first characters stay (02139, 0213*)",
    "ranges": "numbers: ranges of fixed widths",
    "dates": "dates: month, quarter, year, decade",
    "learned": "learned: values that occur with alike others",
    "grouping": "my own: drag values into groups",
    "file": "from a file: CSV, TOML or JSON",
}
_NUMBERS: Final = "no groups: numbers, in ranges if they differ"
_UNCOVERED: Final = {
    "error": "are refused",
    "own branch": "become * if they change",
    "suppress": "leave their rows out",
}
_TYPED: Final = {
    "prefix": ("Characters per step", "1"),
    "ranges": ("Widths, each a multiple of the one before", "5, 10, 20"),
    "dates": ("Levels, finest first", "month, year"),
}


class HierarchyEditor:
    """The hierarchies of the columns that others may know."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._shown: dict[str, Row] = {}

    def build(self) -> None:
        """Make the room; it is filled when there are columns."""
        title = "Groups of values: how they become coarser"
        with ui.expansion(title, icon="account_tree").classes("w-full"):
            ui.label(
                "Without groups a text that has to change becomes *. With groups it "
                "becomes the group: Vienna, then Austria, then Europe."
            ).classes("studio-faint")
            self._rows = ui.column().classes("w-full gap-0")
        self.context.on_table.append(self._forget)
        self.context.on_change.append(self._fill)

    def _forget(self) -> None:
        self._shown = {}

    def _fill(self) -> None:
        known = self.context.draft.columns_of("quasi-identifier")
        if known == [*self._shown]:
            for row in self._shown.values():
                row.follow()
            return
        self._shown = {name: Row(self.context, name) for name in known}
        self._rows.clear()
        with self._rows:
            for row in self._shown.values():
                row.build()


class Row:
    """The hierarchy of one column."""

    def __init__(self, context: PageContext, name: str) -> None:
        self.context = context
        self.name = name
        self._groups: Groups = []
        self._name_of: dict[int, str] = {}
        """What the elements that are dragged, and dragged into, stand for."""
        self._entry = context.draft.hierarchies.get(name)
        """What is shown; the draft may have been given another elsewhere."""
        self._given = self._entry
        """What it was before it was changed here."""

    @property
    def _kind(self) -> str:
        entry = self._entry or {}
        return str(entry.get("kind", "file" if "file" in entry else "none"))

    @property
    def _kinds(self) -> dict[str, str]:
        """The kinds there are for the column; one that the page lacks is named."""
        kinds = dict(_KINDS)
        opened = self.context.session.opened
        if opened is not None and is_number(opened, self.name):
            kinds["none"] = _NUMBERS
        elif self._kind != "flat":  # text is that anyway
            kinds.pop("flat")
        kinds.setdefault(self._kind, f"{self._kind}, as the spec has it")
        return kinds

    def build(self) -> None:
        """Show what is chosen."""
        with ui.column().classes("studio-column w-full gap-1") as self._place:
            self._fill()

    def follow(self) -> None:
        """Show what is chosen if that was done elsewhere."""
        entry = self.context.draft.hierarchies.get(self.name)
        if entry != self._entry:
            self._entry = self._given = entry
            self._place.clear()
            with self._place:
                self._fill()

    def _put(self, entry: JsonObject | None) -> None:
        """Choose a hierarchy, or none."""
        self._entry = entry
        if entry is None:
            self.context.draft.hierarchies.pop(self.name, None)
        else:
            self.context.draft.hierarchies[self.name] = entry

    def _fill(self) -> None:
        with ui.row().classes("items-center w-full gap-3"):
            ui.label(self.name).classes("studio-name col-12 col-sm-2")
            kind = ui.select(
                self._kinds, value=self._kind, on_change=lambda e: self._choose(e.value)
            )
            kind.props("dense outlined options-dense").classes("col-12 col-sm-5")
            named(kind, f"groups of {self.name}")
            typed = typed_of(self._entry) if self._entry else None
            self._typed = ui.input(
                value=typed or "", on_change=lambda e: self._type(e.value)
            )
            self._typed.props("dense debounce=400").classes("col-grow")
            self._look = ui.button("Show the tree", on_click=self._find_tree)
            self._look.props("flat dense no-caps")
        self._file = ui.row().classes("items-center gap-3 w-full")
        self._problem = ui.column().classes("w-full")
        self._room = ui.column().classes("w-full")
        self._show_kind()
        if self._kind == "file":
            self._show_file()
        groups = groups_in(self._entry or {}) if self._kind == "grouping" else None
        if groups is not None:
            self._groups = groups
            self._show_groups()

    def _show_kind(self) -> None:
        kind, entry = self._kind, self._entry or {}
        is_dragged = kind == "grouping" and groups_in(entry) is not None
        self._look.visible = kind not in ("none", "flat") and not is_dragged
        self._typed.visible = kind in _TYPED and typed_of(entry) is not None
        if kind in _TYPED:
            self._typed.props["label"] = _TYPED[kind][0]
            self._typed.update()

    def _choose(self, kind: str) -> None:
        self._problem.clear()
        self._room.clear()
        self._file.clear()
        if kind == "file":
            self._show_file()
            return
        if kind == "grouping":
            opened, draft = self.context.session.opened, self.context.copy_draft()
            if opened is not None:
                self.context.start(
                    lambda _: first_groups(opened, draft, self.name), self._begin
                )
            return
        if kind == "none":
            self._put(None)
        elif kind not in _KINDS:
            self._put(self._given)
        else:
            typed = _TYPED[kind][1] if kind in _TYPED else ""
            self._put(parse_entry(kind, typed))
            self._typed.value = typed
        self._show_kind()
        self.context.changed()

    def _show_file(self) -> None:
        entry = self._entry or {}
        self._file.clear()
        with self._file:
            title = f"hierarchy of {self.name}: {entry.get('file', 'choose a file')}"
            offer_upload(
                self.context, title, HIERARCHY_FILES, self._take_file, self._problem
            )
            lacking = ui.select(
                _UNCOVERED,
                label="Values that the file lacks",
                value=entry.get("uncovered", "error"),
                on_change=lambda event: self._cover(event.value),
            )
            lacking.classes("w-60").set_enabled("file" in entry)

    def _take_file(self, name: str) -> None:
        """Use a file if it is a tree, and look whether it has all values."""
        before = self._entry
        entry = {"file": name}
        if before and "uncovered" in before:
            entry["uncovered"] = before["uncovered"]
        self._put(entry)
        try:
            self.context.draft.to_spec()
        except MondrianError as error:
            self._put(None)
            show_problem(self._problem, error)
        else:
            self._find_tree()
        self._show_file()
        self._show_kind()
        self.context.changed()

    def _cover(self, how: str) -> None:
        if self._entry is not None and "file" in self._entry:
            self._put(self._entry | {"uncovered": how})
            self._find_tree()
            self.context.changed()

    def _type(self, text: str) -> None:
        if self._kind not in _TYPED:
            return
        self._problem.clear()
        try:
            entry = parse_entry(self._kind, text or "")
        except MondrianError as error:
            show_problem(self._problem, error)
            return
        if entry != self._entry:
            self._put(entry)
            self._room.clear()
            self.context.changed()

    def _find_tree(self) -> None:
        opened, draft = self.context.session.opened, self.context.copy_draft()
        if opened is not None:
            self._problem.clear()
            self.context.start(
                lambda _: find_tree(opened, draft, self.name), self._show
            )

    def _show(self, job: Job[Hierarchy]) -> None:
        self._room.clear()
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None:
            with self._room:
                tree = ui.tree(draw_nodes(job.result)).props("dense")
                tree.expand(["0"])
                named(tree, f"groups of {self.name} as a tree")

    def _begin(self, job: Job[Groups]) -> None:
        if job.problem is not None:
            show_problem(self._problem, job.problem)
        elif job.result is not None:
            self._change(job.result)
            self._show_kind()

    def _change(self, groups: Groups) -> None:
        self._groups = groups
        self._put(as_entry(groups))
        self._show_groups()
        self.context.changed()

    def _show_groups(self) -> None:
        self._room.clear()
        self._name_of.clear()
        with self._room:
            ui.label(
                "Drag values from group to group, or press one to move it. Name the "
                "groups as the release should show them."
            ).classes("studio-faint")
            with ui.row().classes("w-full items-stretch gap-3"):
                for name, values in self._groups:
                    self._card(name, values)
            ui.button("Add a group", icon="add", on_click=self._add).props(
                "flat dense no-caps"
            )

    def _add(self) -> None:
        self._change(add_group(self._groups))

    def _card(self, name: str, values: list[str]) -> None:
        with ui.card().props("flat bordered").classes("w-60 q-pa-sm gap-1"):
            title = ui.input(value=name).props("dense").classes("w-full text-bold")
            named(title, f"name of {name}")
            for event in ("blur", "keydown.enter"):
                title.on(event, lambda: self._rename(name, title.value))
            with ui.column().classes("w-full gap-1 studio-drop") as room:
                for value in values:
                    self._chip(value, name)
            self._name_of[room.id] = name
            room.make_sortable(group=f"groups of {self.name}", on_end=self._dropped)

    def _chip(self, value: str, group: str) -> None:
        chip = ui.button(value).props("outline dense no-caps align=left")
        chip.classes("w-full studio-value")
        self._name_of[chip.id] = value
        with chip, ui.menu():
            for other, _ in self._groups:
                if other != group:
                    self._menu_item(value, other)

    def _menu_item(self, value: str, other: str) -> None:
        item = ui.menu_item(
            f"move to {other}",
            on_click=lambda: self._change(move(self._groups, value, other)),
        )
        item.props("role=menuitem")

    def _dropped(self, event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
        value, group = self._name_of[event.item.id], self._name_of[event.target.id]
        # Shown again, because what a value can be moved to depends on its group.
        self._change(move(self._groups, value, group, event.new_index))

    def _rename(self, old: str, new: str) -> None:
        if new == old or old not in dict(self._groups):
            return  # left as it was, or renamed already by the other event
        try:
            groups = rename(self._groups, old, new)
        except MondrianError as error:
            show_problem(self._problem, error)
            self._show_groups()
            return
        self._problem.clear()
        self._change(groups)
