"""Relations on the cluster: frames that SQL can name, computed once and kept there."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Relations:
    """Frames by name; a name may stand for one after the other."""

    def __init__(self, session: "SparkSession") -> None:
        self.session = session
        self._prefix = f"core_mondrian_{secrets.token_hex(6)}"
        self._n_views = 0
        self._views: dict[str, list[str]] = {}

    def put(self, name: str, frame: "DataFrame", *, is_kept: bool = True) -> None:
        """Give a frame a name; if it is kept, it is computed when first asked for.

        A view, because Spark analyzes it once: a frame that is made of others would be
        analyzed again with all of them, as often as it is used.
        """
        self._n_views += 1
        view = f"{self._prefix}_{self._n_views}"
        frame.createTempView(view)
        if is_kept:
            # Spark describes a plan in words whenever it changes. One that adapts is
            # described twice, each time with all that it is made of: 2¹⁰ times where
            # ten are made of each other.
            with setting(self.session, "spark.sql.adaptive.enabled", "false"):
                self.session.table(view).persist()
        self._views.setdefault(name, []).append(view)

    def view(self, name: str) -> str:
        """Return what SQL calls a relation."""
        return self._views[name][-1]

    def __getitem__(self, name: str) -> "DataFrame":
        return self.session.table(self.view(name))

    def drop(self, name: str, *, but: int = 0) -> None:
        """Let go of the frames that a name has stood for, but the last ones."""
        views = self._views.pop(name, [])
        kept = views[len(views) - but :] if but else []
        if kept:
            self._views[name] = kept
        for view in views[: len(views) - len(kept)]:
            self.session.table(view).unpersist()
            self.session.catalog.dropTempView(view)

    def keep_only(self, *names: str) -> None:
        """Let go of all others."""
        for name in [*self._views]:
            if name not in names:
                self.drop(name)


@contextmanager
def setting(session: "SparkSession", name: str, value: str) -> Iterator[None]:
    """Let a session have a setting for a while."""
    before = session.conf.get(name, None)
    session.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, before)
