"""The key of pseudonyms: typed or made, and in nothing that is kept or shown."""

import secrets
from typing import Any

from nicegui import ui

from core_mondrian.errors import MondrianError
from core_mondrian.studio.file_names import KEY_FILE
from core_mondrian.studio.page_context import PageContext, show_problem
from core_mondrian.tables.keys import SHORTEST_KEY, open_key


class Keys:
    """Asks for a key while a column is to get pseudonyms."""

    def __init__(self, context: PageContext) -> None:
        self.context = context

    def build(self) -> None:
        """Make the room; it is seen when it is needed."""
        with ui.column().classes("studio-note w-full gap-2") as self._room:
            ui.label("The key of the pseudonyms").classes("text-bold")
            ui.label(
                "The same value gets the same pseudonym wherever the same key is used. "
                "Whoever has the key can identify the person of a pseudonym: keep it, "
                "and keep it secret. It is in no file of the release and not in the "
                "spec."
            )
            with ui.row().classes("items-center gap-3 w-full"):
                self._typed = ui.input(
                    f"Key, {SHORTEST_KEY} signs or more",
                    password=True,
                    on_change=self._type,
                ).classes("w-80 max-w-full")
                self._typed.props("autocomplete=new-password debounce=400")
                ui.label("or")
                ui.button("Make a key and save it", on_click=self._make).props(
                    "outline no-caps icon=key"
                )
            self._message = ui.label().props("aria-live=polite").mark("key")
            self._problem = ui.column().classes("w-full")
        self.context.on_change.append(self._show)

    def _show(self) -> None:
        self._room.visible = bool(self.context.draft.columns_of("pseudonym"))
        is_set = self.context.session.key is not None
        self._message.set_text("A key is set." if is_set else "There is no key yet.")

    def _type(self, event: Any) -> None:  # noqa: ANN401  # NiceGUI's events
        typed = (event.value or "").encode()
        self._problem.clear()
        if not typed:
            return  # a key that was made stays
        self.context.session.key = None
        try:
            open_key(typed)
        except MondrianError as error:
            show_problem(self._problem, error)
        else:
            self.context.session.key = typed
        self._show()

    def _make(self) -> None:
        key = secrets.token_hex(32)
        self._typed.set_value("")
        self.context.session.key = key.encode()
        ui.download.content(f"{key}\n".encode(), KEY_FILE)
        self._problem.clear()
        self._show()
        self._message.set_text(f"A key was made and saved as {KEY_FILE}.")
