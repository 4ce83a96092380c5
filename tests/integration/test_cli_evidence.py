"""verify --manifest, keygen, sign: what fits passes, whatever was changed does not."""

import base64
import csv
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in

from core_mondrian import (
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.release.manifests import parse_manifest, whole_spec
from core_mondrian.release.owner_record import parse_record
from core_mondrian.spec.policies import BestPolicy

pytest.importorskip("cryptography", reason="not installed: the extra 'sign'")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from core_mondrian.analysis import evidence
from core_mondrian.release import signatures

ASKED = ("--qid", "age", "--qid", "town", "--k", "3", "--identifier", "name")
RECORD = "out.csv.owner.json"
MANIFEST, SIGNATURE = "out.csv.manifest.json", "out.csv.manifest.json.sig"
Change = Callable[[bytes], bytes]


def write_people(path: Path, *, first_age: int = 20) -> None:
    """60 people, all of whose texts are canaries."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "age", "town", "ill", "note"))
        for i in range(60):
            town, ill = f"{CANARY} t{i % 3}", f"{CANARY} i{i % 4}"
            age = first_age + i * 7 % 31
            writer.writerow((f"{CANARY} {i}", age, town, ill, f"{CANARY} n{i}"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed release, its input, the key and another one."""
    from core_mondrian.cli.main import run

    folder = tmp_path_factory.mktemp("signed")
    write_people(folder / "in.csv")
    for name in ("key", "other"):
        signatures.make_keys(folder / name)
    words = [str(folder / "in.csv"), str(folder / "out.csv"), *ASKED, "--suppress"]
    model = "distinct-l-diversity l=2 sensitive=ill"
    with pytest.raises(SystemExit) as caught:
        run(
            [
                *("anonymize", *words, "5%", "--model", model, "--no-measures"),
                *("--sign-key", str(folder / "key")),
            ]
        )
    assert caught.value.code == 0
    return folder


@pytest.fixture
def signed(made: Path, tmp_path: Path) -> Path:
    """A copy of all of it that a test may spoil, in the folder that `cli` is in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def check(cli: Command, *more: object) -> Any:
    return cli("verify", "out.csv", "--manifest", MANIFEST, *more)


@pytest.mark.usefixtures("signed")
def test_what_belongs_together_passes(cli: Command) -> None:
    done = check(cli, "--public-key", "key.pub", "--with", "in.csv", "--redo", "--json")

    assert done.code == 0, done.err
    found = json.loads(done.out)
    passed = {one["what"]: one["passed"] for one in found["checks"]}
    assert found["passed"] is True
    names = "signature file rows classes model digest record input tree redone"
    assert passed == dict.fromkeys([*names.split(), "row by row"], True)


@pytest.mark.usefixtures("signed")
def test_what_needs_the_input_or_a_key_is_said(cli: Command) -> None:
    done = check(cli)

    assert done.code == 0, done.err
    assert "signature   not checked: there is one; --public-key FILE" in done.err
    assert "input       not checked: it needs the input and the owner's" in done.err
    looked = check(cli, "--with", "in.csv").err
    assert "record      the owner's record is of this release" in looked
    assert "input       the digest is that of the record" in looked
    assert "redone" not in looked


def test_the_signature_is_plain_ed25519_over_the_exact_bytes(signed: Path) -> None:
    key = serialization.load_pem_public_key((signed / "key.pub").read_bytes())

    assert isinstance(key, ed25519.Ed25519PublicKey)
    key.verify((signed / SIGNATURE).read_bytes(), (signed / MANIFEST).read_bytes())


def swapped(old: str, new: str) -> Change:
    def change(raw: bytes) -> bytes:
        assert old.encode() in raw
        return raw.replace(old.encode(), new.encode(), 1)

    return change


def flipped(raw: bytes) -> bytes:
    return bytes([raw[0] ^ 1]) + raw[1:]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        pytest.param(
            *("out.csv", swapped(f"{CANARY} n9", f"{CANARY} n8")),
            "the file of the release was changed",
            id="passes through",
        ),
        pytest.param(
            *("out.csv", swapped("\n", "\n\n")),
            "the file of the release was changed",
            id="not even a cell",
        ),
        pytest.param("out.csv", swapped("[", "("), "digests differ", id="range"),
        pytest.param("out.csv", swapped("town", "tawn"), "does not fit", id="header"),
        pytest.param(
            *(MANIFEST, swapped('"classes": ', '"classes": 1')),
            "classes, the table has",
            id="manifest",
        ),
        pytest.param(
            *(MANIFEST, swapped('"age"', '"agf"')),
            "the table does not fit the manifest",
            id="manifest's column",
        ),
        pytest.param(SIGNATURE, flipped, "signature does not fit", id="signature"),
        pytest.param(SIGNATURE, lambda raw: raw[1:], "64 bytes", id="cut signature"),
        pytest.param(
            "key.pub", flipped, "not a public key in PEM", id="spoilt public key"
        ),
    ],
)
def test_one_byte_is_enough(
    cli: Command, signed: Path, name: str, change: Change, told: str
) -> None:
    file = signed / name
    file.write_bytes(change(file.read_bytes()))

    done = check(cli, "--public-key", "key.pub")

    assert done.code == (2 if name == "key.pub" else 5)
    assert told in done.err
    if name in (MANIFEST, SIGNATURE):
        assert "signature   NOT SO: " in done.err


def test_any_bit_of_manifest_and_signature_counts(signed: Path) -> None:
    key = signatures.read_public_key(signed / "key.pub")
    raw = (signed / MANIFEST).read_bytes()
    signature = (signed / SIGNATURE).read_bytes()

    assert key.fits(raw, signature)
    for i in range(0, len(raw), 7):
        changed = raw[:i] + bytes([raw[i] ^ 1 << i % 8]) + raw[i + 1 :]
        assert not key.fits(changed, signature), i
    for i in range(64):
        changed = signature[:i] + bytes([signature[i] ^ 1 << i % 8])
        assert not key.fits(raw, changed + signature[i + 1 :]), i


def test_another_key_and_no_signature_are_refused(cli: Command, signed: Path) -> None:
    other = check(cli, "--public-key", "other.pub")
    (signed / SIGNATURE).unlink()
    unsigned = check(cli, "--public-key", "key.pub")

    assert (other.code, unsigned.code) == (5, 5)
    fingerprint = signatures.read_public_key(signed / "other.pub").fingerprint
    assert f"another key than {fingerprint} signed" in other.err
    assert "the manifest is not signed" in unsigned.err
    assert check(cli).code == 0  # nobody asked


@pytest.mark.parametrize(
    ("key", "told"),
    [
        pytest.param("classes", "classes, the table has", id="classes"),
        pytest.param("rows", "rows, the table has", id="rows"),
        pytest.param("models", "reaches another figure", id="reached"),
        pytest.param("digests", "digests differ", id="digest"),
    ],
)
def test_an_unsigned_manifest_of_another_release_is_told_by_what_differs(
    cli: Command, signed: Path, key: str, told: str
) -> None:
    manifest = json.loads((signed / MANIFEST).read_text(encoding="utf-8"))
    if key == "classes":
        manifest[key] += 1
    elif key == "rows":
        manifest[key]["released"] += 1
    elif key == "models":
        manifest[key][0]["reached"] += 1
    else:
        manifest[key]["release"] = "0" * 64
    (signed / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")

    done = check(cli)

    assert done.code == 5
    assert told in done.err
    assert done.err.count("NOT SO") == 1


def test_another_input_is_refused(cli: Command, signed: Path) -> None:
    write_people(signed / "in.csv", first_age=21)

    looked, redone = (check(cli, "--with", "in.csv", *x) for x in ([], ["--redo"]))

    assert (looked.code, redone.code) == (5, 5)
    assert "the input is not that of the record" in looked.err
    assert "redone      not checked: not made again of another input" in redone.err


def test_another_spec_makes_another_release(cli: Command, signed: Path) -> None:
    text = 'quasi_identifiers = ["age", "town"]\nidentifiers = ["name"]\nk = 4\n'
    (signed / "spec.toml").write_text(text, encoding="utf-8")
    made = cli("anonymize", "in.csv", "out.csv", *ASKED, "--overwrite")
    assert made.code == 0, made.err

    done = cli(
        *("verify", "out.csv", "--manifest", MANIFEST, "--with", "in.csv"),
        *("--redo", "--spec", "spec.toml"),
    )

    assert done.code == 5
    assert "4-anonymity fails" in done.err
    assert "input       the digest is that of the record" in done.err
    assert "the tree is not that of the record" in done.err
    assert "made again, the release is another: digest of the release" in done.err


@pytest.mark.usefixtures("signed")
def test_nothing_is_said_to_fit_that_was_not_compared(cli: Command) -> None:
    done = check(cli, "--qid", "town", "--k", "2")

    assert done.code == 0, done.err
    assert "classes     not checked: the spec is another" in done.err
    assert "digest      " not in done.err
    assert "model       not checked: 3-anonymity needs the spec" in done.err
    assert "the manifest is about other quasi-identifiers" in done.err


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("suppressed", ["drop", "blank"])
def test_bad_rows_of_a_stream_are_part_of_the_sum(
    cli: Command, tmp_path: Path, suppressed: str
) -> None:
    with (tmp_path / "in.csv").open("a", encoding="utf-8") as file:
        file.write("too,few\n")
    made = cli(
        *("anonymize", "in.csv", "out.csv", *ASKED, "--bad-rows", "1"),
        *("--overwrite", "--suppressed", suppressed, "--suppress", "5%"),
    )
    assert made.code == 0, made.err

    assert '"bad": 1' in (tmp_path / RECORD).read_text(encoding="utf-8")
    assert check(cli).code == 0


def test_a_spec_that_the_manifest_does_not_hold_has_to_be_given(
    cli: Command, signed: Path
) -> None:
    rows = [f"{CANARY} t{i};{i // 2};*\n" for i in range(3)]
    (signed / "towns.csv").write_text("".join(rows), encoding="utf-8")
    text = 'quasi_identifiers = ["age", "town"]\nidentifiers = ["name"]\nk = 3\n'
    spec = signed / "spec.toml"
    spec.write_text(f'{text}[hierarchies]\ntown = "towns.csv"\n', encoding="utf-8")
    made = cli("anonymize", "in.csv", "out.csv", "--spec", spec, "--overwrite")
    assert made.code == 0, made.err

    lacking = check(cli, "--with", "in.csv", "--redo")
    given = check(cli, "--with", "in.csv", "--redo", "--spec", spec)

    assert lacking.code == 2
    assert "does not state in full: hierarchies" in lacking.err
    assert given.code == 0, given.err
    assert "redone      classes, counts and figures come out the same" in given.err


TABLE = pa.table(
    {
        "age": [i * 7 % 31 for i in range(60)],
        "town": [f"t{i % 3}" for i in range(60)],
        "ill": [f"i{i % 4}" for i in range(60)],
        "who": [f"w{i}" for i in range(60)],
    }
)
ONE = Spec(("age", "town"), (KAnonymity(3),))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(ONE, id="defaults"),
        pytest.param(
            replace(
                ONE,
                models=(KAnonymity(2), DistinctLDiversity(2, "ill")),
                policy=BestPolicy(disjoint=True, beta=2.0),
                suppress=Suppression(share=Fraction(5, 100)),
                numbers="bounds",
                nice_by_column={"age": True},
                weights={"age": 2.0},
                pseudonyms=("who",),
                class_id="class",
                shuffle=7,
            ),
            id="best",
        ),
        pytest.param(
            replace(
                ONE,
                policy=PaperPolicy(
                    breakout_multiplier=0.5, breakout_thresholds=(("age", 0.5),)
                ),
                suppressed="blank",
                identifiers=("who",),
                categories="set",
            ),
            id="paper",
        ),
        pytest.param(
            replace(
                ONE,
                policy=PaperPolicy(),
                suppress=Suppression(share=Fraction(1, 10), multiplier=Fraction(3, 2)),
                small_patterns="suppress",
            ),
            id="small patterns, a margin above 1",
        ),
        pytest.param(
            replace(ONE, policy=OriginalPolicy(), unit="who"), id="original, persons"
        ),
    ],
)
def test_a_manifest_holds_the_whole_spec(spec: Spec, tmp_path: Path) -> None:
    key = bytes(range(32)) if spec.pseudonyms else None
    release = anonymize(TABLE, spec, key=key)
    record = json.loads(json.dumps(release.manifest()))
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(record), encoding="utf-8")

    again = whole_spec(record, parse_manifest(record))
    found = evidence.check_manifest(release.data, file)
    own = parse_record(json.loads(json.dumps(release.record())))
    found = evidence.check_source(found, TABLE, own, redo=evidence.Redo(key))

    assert again == replace(spec, missing=spec.missing_rule)
    assert found.problems == ()


def test_nothing_of_the_input_or_the_key_is_in_manifest_and_signature(
    cli: Command, signed: Path
) -> None:
    private = (signed / "key").read_bytes()
    secret = private.split(b"\n")[1]
    told = check(cli, "--public-key", "key.pub", "--json")

    assert CANARY in (signed / "out.csv").read_text(encoding="utf-8")
    for name in (MANIFEST, SIGNATURE, "key.pub"):
        raw = (signed / name).read_bytes()
        assert CANARY.encode() not in raw
        assert secret not in raw
        assert base64.b64decode(secret)[-32:] not in raw
    assert secret.decode() not in told.out + told.err


def test_a_manifest_is_signed_later(cli: Command, signed: Path) -> None:
    first = (signed / SIGNATURE).read_bytes()
    taken = cli("sign", MANIFEST, "--key", "other")
    replaced = cli("sign", MANIFEST, "--key", "other", "--overwrite")

    assert (taken.code, replaced.code) == (2, 0)
    assert (signed / SIGNATURE).read_bytes() != first
    name = evidence.check_signature(signed / MANIFEST, signed / "other.pub")
    assert f"signed      by key {name}" in replaced.err
    with pytest.raises(PrivacyViolation, match="does not fit"):
        evidence.check_signature(signed / MANIFEST, signed / "key.pub")
    assert cli("sign", "in.csv", "--key", "other").code == 3  # no manifest
    assert not (signed / "in.csv.sig").exists()


def test_keys_are_private_and_never_overwritten(cli: Command, tmp_path: Path) -> None:
    done = cli("keygen", "mine")
    before = [(tmp_path / name).read_bytes() for name in ("mine", "mine.pub")]
    again = cli("keygen", "mine")
    (tmp_path / "mine").rename(tmp_path / "kept")
    beside = cli("keygen", "mine")

    assert (done.code, again.code, beside.code) == (0, 2, 2)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    assert [(tmp_path / x).read_bytes() for x in ("kept", "mine.pub")] == before
    assert files_in(tmp_path) == ["kept", "mine.pub"]
    assert signatures.read_public_key(tmp_path / "mine.pub").fingerprint in done.err
    assert "keys are never overwritten" in again.err


def encrypted() -> bytes:
    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


def of_another_kind() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(lambda: None, "No such file", id="none"),
        pytest.param(CANARY.encode, "not a private key in PEM", id="text"),
        pytest.param(encrypted, "it is encrypted", id="encrypted"),
        pytest.param(of_another_kind, "not an Ed25519 key", id="other kind"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_before_any_work(
    cli: Command, tmp_path: Path, content: Callable[[], bytes | None], told: str
) -> None:
    write_people(tmp_path / "in.csv")
    raw = content()
    if raw is not None:
        (tmp_path / "bad").write_bytes(raw)
    before = files_in(tmp_path)

    done = cli("anonymize", "in.csv", "out.csv", *ASKED, "--sign-key", "bad")

    assert done.code == 2
    assert f"key bad: {told}" in done.err
    assert files_in(tmp_path) == before


@pytest.mark.usefixtures("signed")
def test_a_private_key_is_not_taken_for_a_public_one(cli: Command) -> None:
    done = check(cli, "--public-key", "key")

    assert done.code == 2
    assert "that is a private key" in done.err


def test_release_manifest_and_signature_are_written_together_or_not_at_all(
    cli: Command, signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(28, "no space")

    words = ("anonymize", "in.csv", "new.csv", *ASKED, "--sign-key", "key")
    before = files_in(signed)
    with monkeypatch.context() as patch:
        patch.setattr(signatures.Signer, "sign", fail)
        full, streamed = cli(*words), cli(*words, "--stream")
    (signed / "new.csv.manifest.json.sig").touch()
    taken = cli(*words)

    assert (full.code, streamed.code, taken.code) == (6, 6, 2)
    assert files_in(signed) == sorted([*before, "new.csv.manifest.json.sig"])


@pytest.mark.usefixtures("signed")
def test_a_streamed_release_is_signed_too(cli: Command) -> None:
    done = cli(
        *("anonymize", "in.csv", "out.csv", *ASKED, "--sign-key", "other"),
        *("--stream", "--overwrite", "--no-measures"),
    )
    found = check(cli, "--public-key", "other.pub", "--with", "in.csv", "--redo")

    assert done.code == 0, done.err
    assert found.code == 0, found.err
    assert "file        every byte" in found.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_release_in_parts_is_checked_as_one(
    cli: Command, signed: Path, suffix: str
) -> None:
    table = pyarrow.csv.read_csv(signed / "in.csv")
    (signed / "in").mkdir()
    write = pyarrow.csv.write_csv if suffix == ".csv" else pq.write_table
    for i in range(2):
        write(table.slice(i * 30, 30), signed / "in" / f"{i}{suffix}")
    made = cli("anonymize", "in", "out", *ASKED, "--sign-key", "key", "--no-measures")
    assert made.code == 0, made.err
    words = ("verify", "out", "--manifest", "out.manifest.json")

    whole = cli(*words, "--public-key", "key.pub", "--with", "in.csv", "--redo")
    first = min((signed / "out").iterdir())
    first.rename(first.with_name(f"part-00009{suffix}"))
    renamed = cli(*words)

    assert len(list((signed / "out").iterdir())) == 2
    assert whole.code == 0, whole.err
    assert "file        every byte" in whole.err
    assert renamed.code == 5
    assert renamed.err.count("NOT SO") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--manifest", MANIFEST, "--redo"], "--redo needs", id="redo"),
        pytest.param(["--record", "r.json"], "--record needs the input", id="record"),
        pytest.param(["--csv", "quote=single"], "--csv needs the input", id="csv"),
        pytest.param(["--key-file", "key"], "add --redo", id="key-file"),
        pytest.param(["--public-key", "key.pub"], "about a manifest", id="key"),
        pytest.param(["--with", "in.csv"], "about a manifest", id="with"),
    ],
)
def test_options_that_need_others_say_so(
    cli: Command, words: list[str], told: str, signed: Path
) -> None:
    if "--manifest" not in words:
        (signed / MANIFEST).unlink()  # it would be found beside the release
    done = cli("verify", "out.csv", *words)

    assert done.code == 2
    assert told in done.err


@pytest.mark.usefixtures("signed")
def test_without_the_package_the_extra_is_named(
    cli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)

    done = cli("keygen", "new")

    assert done.code == 2
    assert "core-mondrian[sign]" in done.err
    assert check(cli).code == 0  # recounting needs no key


def test_verify_finds_the_manifest_beside_the_release(
    cli: Command, tmp_path: Path
) -> None:
    people = "age,sex\n" + "".join(f"{20 + i % 3},f\n" for i in range(60))
    (tmp_path / "in.csv").write_text(people, encoding="utf-8")
    made = cli("anonymize", "in.csv", "out.csv", "--qid", "age", "--k", "5")
    assert made.code == 0, made.err

    found = cli("verify", "out.csv")
    assert found.code == 0, found.err
    assert "5-anonymity" in found.err
    assert "manifest" in found.err
    partly = cli("verify", "out.csv", "--unit", "nobody")
    assert (partly.code, "--qid COLUMN" in partly.err) == (2, True)

    (tmp_path / "out.csv").write_text("age,sex\n21,f\n", encoding="utf-8")
    assert cli("verify", "out.csv").code == 5


def test_a_release_that_is_not_there_is_what_is_told(
    cli: Command, tmp_path: Path
) -> None:
    (tmp_path / "release.csv").write_text("a\n1\n", encoding="utf-8")
    done = cli("verify", "relaese.csv")
    assert done.code == 3
    assert "relaese.csv: no such file" in done.err
    assert "did you mean 'release.csv'?" in done.err
