"""core-mondrian anonymize --engine spark: tables that a cluster reads and writes."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core_mondrian.cli.anonymize import (
    check_formats,
    manifest_of,
    print_details,
    read_key,
    release_json,
)
from core_mondrian.cli.report import report_of
from core_mondrian.cli.sign import open_signer, signed_text
from core_mondrian.cli.summary import (
    measured,
    print_release,
    say_written,
)
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from core_mondrian.measures.groups import GroupMeasures
    from core_mondrian.measures.utility import Measures
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.release.result import Release
    from core_mondrian.release.signatures import Signer
    from core_mondrian.sources.spark.api import Means
    from core_mondrian.sources.spark.cancellation import Cancellation
    from core_mondrian.sources.spark.publish import Placing
    from core_mondrian.sources.spark.tables import Spot
    from core_mondrian.spec.declaration import Spec
    from core_mondrian.tables.files.atomic_write import Content


def anonymize_on_spark(spec: "Spec", options: Mapping[str, Any]) -> None:
    """Do what `anonymize_file` does, on a cluster; its options by their names."""
    from core_mondrian.sources.spark.session import connected
    from core_mondrian.sources.spark.tables import spot_of
    from core_mondrian.tables.files.atomic_write import record_of

    started = time.perf_counter()
    target, overwrite = options["target"], options["overwrite"]
    check_formats(spec, target, options["suppressed_file"])
    page = report_of(options, spec)
    key = read_key(options["key_file"], spec)
    signer = open_signer(options["sign_key"], target, overwrite=overwrite)
    source = spot_of(options["source_name"])
    asked = [options["target_name"], options["suppressed_file"]]
    spots = [spot_of(str(name)) for name in asked if name is not None]
    texts = [manifest_of(target), record_of(target), options["report"]]
    _check_files(source, spots, [path for path in texts if path], overwrite=overwrite)
    made: list[_Made] = []
    try:
        with connected(options["master"], options["remote"]) as session:
            run = _Run(session, source, spots, spec, {**options, "key": key})
            run.publish(made, signer, page)
    except BaseException:
        if not made:  # else the work is done and stays done
            raise
    with suppress(KeyboardInterrupt):
        print_release(*made[0])
        say_written(target, time.perf_counter() - started)
        print_details(
            options["report"], options["suppressed_file"], signed_text(signer, target)
        )


def _check_files(
    source: "Spot", spots: "list[Spot]", texts: list[Path], *, overwrite: bool
) -> None:
    """Refuse places that are taken, or are one another, before any work."""
    from core_mondrian.tables.files.atomic_write import check_place, require_distinct

    for file in texts:
        check_place(file, overwrite=overwrite)
    places = [Path(spot.text).resolve() for spot in (source, *spots)]
    places += [file.resolve() for file in texts]
    require_distinct("source, target and the files beside it", places)
    if any(place.is_relative_to(places[0]) for place in places[1:]):
        raise SpecError(
            "the target is inside the source", hint="name a folder beside it"
        )


class _Made(NamedTuple):
    """A release, and what is said about it."""

    release: "Release[Any]"
    measures: "Measures | None"
    groups: "Mapping[str, tuple[GroupMeasures, ...]]"
    output: str | None


@dataclass(frozen=True)
class _Run:
    """One release, from a table of Spark's to others."""

    session: "SparkSession"
    source: "Spot"
    spots: "Sequence[Spot]"
    spec: "Spec"
    options: Mapping[str, Any]

    def publish(
        self, made: list[_Made], signer: "Signer | None", page: "ReportFile | None"
    ) -> None:
        """Write the release, and add it to ``made`` once it is in its place.

        All that asks Spark is on a thread. A signal that arrives in gRPC would leave a
        lock behind, for which everybody waits from then on.
        """
        from core_mondrian.sources.interruptible import interruptible
        from core_mondrian.sources.spark.cancellation import Cancellation
        from core_mondrian.sources.spark.publish import Placing
        from core_mondrian.tables.files.atomic_write import record_of

        overwrite, target = self.options["overwrite"], self.options["target"]
        placing = Placing(self.session, self.spots, overwrite=overwrite)
        cancellation = Cancellation(self.session)

        def work() -> None:
            self._set_up()
            with placing:
                with cancellation.heeded():
                    one = self._make(placing, cancellation)
                    draft = placing.drafts[0]
                    texts = _texts(one.release, target, draft, signer, page)
                placing.texts.update(texts)
                placing.private.append(record_of(target))
            made.append(one)

        try:
            interruptible(work, cancellation.cancel)
        finally:
            placing.abandon()

    def _set_up(self) -> None:
        """Let Spark read and write files as others do, and refuse places taken."""
        from core_mondrian.sources.spark.tables import Folder, check_spot

        for spot in self.spots:
            check_spot(spot, self.session, overwrite=self.options["overwrite"])
        if all(isinstance(spot, Folder) for spot in (self.source, *self.spots)):
            # Names in files may differ in case only; those in a catalog do not.
            self.session.conf.set("spark.sql.caseSensitive", "true")
        # Spark's own choice, INT96, is no moment to others.
        kind = "TIMESTAMP_MICROS"
        self.session.conf.set("spark.sql.parquet.outputTimestampType", kind)

    def _make(self, placing: "Placing", cancellation: "Cancellation") -> _Made:
        release = self._release(placing, cancellation)
        found, groups = measured(release, self.options)
        is_json = self.options["as_json"]
        output = release_json(release, found, groups) if is_json else None
        return _Made(release, found, groups, output)

    def _release(
        self, placing: "Placing", cancellation: "Cancellation"
    ) -> "Release[Any]":
        """Write the release beside its place, and verify what was written."""
        from core_mondrian.runtime.stages import Stages
        from core_mondrian.sources.spark.api import draft_release
        from core_mondrian.sources.spark.tables import open_table
        from core_mondrian.sources.spark.watch import following

        frame, read = open_table(self.source, self.session, self.spec)
        as_json, by = self.options["as_json"], self.options["by"] or ()
        with ExitStack() as stack:
            progress = stack.enter_context(show_progress(as_json=as_json))
            followed = stack.enter_context(following(self.session, progress))
            stages = Stages(cancellation.checked(followed))
            drafting = draft_release(
                frame, self.spec, self._means(), by=by, stages=stages, read=read
            )
            draft = stack.enter_context(drafting)
            stages.report("write")
            frames = (draft.data, draft.suppressed)
            for place, data in zip(placing.drafts, frames, strict=False):
                if data is not None:
                    place.write(data)
            stages.end("write")
            written = placing.drafts[0].read_back(self.session, draft.data)
            return draft.release(draft.verify_written(written), written)

    def _means(self) -> "Means":
        from core_mondrian.sources.spark.api import DRIVER_TUPLES, Means

        asked = self.options["driver_tuples"]
        most = DRIVER_TUPLES if asked is None else asked
        needs_all = () if self.options["report"] is None else ("a report",)
        return Means(most, self.options["key"], self.options["threads"], needs_all)


def _texts(
    release: "Release[Any]",
    target: Path,
    draft: "Spot",
    signer: "Signer | None",
    report: "ReportFile | None",
) -> "dict[Path, Content]":
    """Return what is written next to the table."""
    from core_mondrian.release.manifests import manifest_text
    from core_mondrian.release.owner_record import record_text
    from core_mondrian.release.signatures import digest_file, signature_of
    from core_mondrian.sources.spark.tables import Folder
    from core_mondrian.tables.files.atomic_write import record_of

    told = release.manifest()
    if signer is not None and isinstance(draft, Folder):
        told = {**told, "files": {"release": digest_file(draft.path)}}
    manifest, raw = manifest_of(target), manifest_text(told).encode()
    texts: dict[Path, Content] = {
        manifest: raw,
        record_of(target): record_text(release.record()),
        # An old one would be of another manifest.
        signature_of(manifest): None if signer is None else signer.sign(raw),
    }
    if report is not None:
        texts[report.path] = report.page_of(release)
    return texts
