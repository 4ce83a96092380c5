"""core-mondrian anonymize --engine spark: tables that a cluster reads and writes."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from core_mondrian.cli.options import read_key
from core_mondrian.cli.release_request import Outcome, ReleaseRequest, check_formats
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress
from core_mondrian.tables.files.staging import manifest_of, record_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.release.result import AnyRelease
    from core_mondrian.release.signatures import Signer
    from core_mondrian.sources.spark.api import Means
    from core_mondrian.sources.spark.cancellation import Cancellation
    from core_mondrian.sources.spark.publish import Placing
    from core_mondrian.sources.spark.tables import Spot
    from core_mondrian.spec.declaration import Spec
    from core_mondrian.tables.files.atomic_write import Content


def anonymize_on_spark(request: ReleaseRequest, spec: "Spec") -> Outcome:
    """Make a release of a table that a cluster reads, as another that it writes."""
    from core_mondrian.sources.spark.session import connected

    prepared = _Prepared.of(request, spec)
    made: list[Outcome] = []
    try:
        with connected(request.cluster.master, request.cluster.remote) as session:
            _Run(session, request, spec, prepared).publish(made)
    except BaseException:
        if not made:  # else the work is done and stays done
            raise
    return request.outcome_of_files(made[0], prepared.signer)


class _Prepared(NamedTuple):
    """What a run needs and is checked before any work."""

    source: "Spot"
    spots: "Sequence[Spot]"
    key: bytes | None
    page: "ReportFile | None"
    signer: "Signer | None"

    @staticmethod
    def of(request: ReleaseRequest, spec: "Spec") -> "_Prepared":
        from core_mondrian.sources.spark.tables import spot_of

        target, rows = request.target, request.suppressed_file
        check_formats(spec, target, rows)
        page, key = request.page(spec), read_key(request.key_file, spec)
        signer = request.signer()
        names = [request.target_name, *([] if rows is None else [str(rows)])]
        source, spots = spot_of(request.source_name), [*map(spot_of, names)]
        report = request.report.report
        texts = [manifest_of(target), record_of(target)]
        texts += [] if report is None else [report]
        _check_files(source, spots, texts, overwrite=request.overwrite)
        return _Prepared(source, spots, key, page, signer)


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


@dataclass(frozen=True)
class _Run:
    """One release, from a table of Spark's to others."""

    session: "SparkSession"
    request: ReleaseRequest
    spec: "Spec"
    prepared: _Prepared

    def publish(self, made: list[Outcome]) -> None:
        """Write the release, and add it to ``made`` once it is in its place.

        All that asks Spark is on a thread. A signal that arrives in gRPC would leave a
        lock behind, for which everybody waits from then on.
        """
        from core_mondrian.sources.interruptible import interruptible
        from core_mondrian.sources.spark.cancellation import Cancellation
        from core_mondrian.sources.spark.publish import Placing

        overwrite, target = self.request.overwrite, self.request.target
        placing = Placing(self.session, self.prepared.spots, overwrite=overwrite)
        cancellation = Cancellation(self.session)

        def work() -> None:
            self._set_up()
            with placing:
                with cancellation.heeded():
                    one = self._make(placing, cancellation)
                    draft = placing.drafts[0]
                    texts = _texts(one.release, target, draft, self.prepared)
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

        source, spots = self.prepared.source, self.prepared.spots
        for spot in spots:
            check_spot(spot, self.session, overwrite=self.request.overwrite)
        if all(isinstance(spot, Folder) for spot in (source, *spots)):
            # Names in files may differ in case only; those in a catalog do not.
            self.session.conf.set("spark.sql.caseSensitive", "true")
        # Spark's own choice, INT96, is no moment to others.
        kind = "TIMESTAMP_MICROS"
        self.session.conf.set("spark.sql.parquet.outputTimestampType", kind)

    def _make(self, placing: "Placing", cancellation: "Cancellation") -> Outcome:
        return self.request.figures.measure(self._release(placing, cancellation))

    def _release(
        self, placing: "Placing", cancellation: "Cancellation"
    ) -> "AnyRelease":
        """Write the release beside its place, and verify what was written."""
        from core_mondrian.runtime.stages import Stages
        from core_mondrian.sources.spark.api import draft_release
        from core_mondrian.sources.spark.tables import open_table
        from core_mondrian.sources.spark.watch import following

        frame, read = open_table(self.prepared.source, self.session, self.spec)
        as_json, by = self.request.figures.as_json, self.request.by
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

        asked = self.request.cluster.driver_tuples
        most = DRIVER_TUPLES if asked is None else asked
        needs_all = () if self.prepared.page is None else ("a report",)
        return Means(most, self.prepared.key, self.request.threads, needs_all)


def _texts(
    release: "AnyRelease",
    target: Path,
    draft: "Spot",
    prepared: _Prepared,
) -> "dict[Path, Content]":
    """Return what is written next to the table."""
    from core_mondrian.release.manifests import manifest_text
    from core_mondrian.release.owner_record import record_text
    from core_mondrian.release.signatures import digest_file, signature_of
    from core_mondrian.sources.spark.tables import Folder

    plain, signer = release.manifest(), prepared.signer
    if signer is not None and isinstance(draft, Folder):
        plain = {**plain, "files": {"release": digest_file(draft.path)}}
    manifest, raw = manifest_of(target), manifest_text(plain).encode()
    texts: dict[Path, Content] = {
        manifest: raw,
        record_of(target): record_text(release.record()),
        # An old one would be of another manifest.
        signature_of(manifest): None if signer is None else signer.sign(raw),
    }
    if prepared.page is not None:
        texts[prepared.page.path] = prepared.page.page_of(release)
    return texts
