"""An audit counts what was looked up: silence of a database is not good news."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from supply.audit import UNKNOWN, VULNERABLE, main

SOUND: dict[str, Any] = {"name": "sound", "version": "1", "vulns": []}
WEAK: dict[str, Any] = {"name": "weak", "version": "1", "vulns": [{"id": "CVE-1"}]}
SKIPPED: dict[str, Any] = {"name": "sound", "skip_reason": "not found"}


def audited(*answers: list[Any] | None) -> int:
    """Return the exit code when the databases answer so; None: it falls over."""
    waiting = list(answers)

    def run(command: list[str], **_: Any) -> Any:
        assert any(part.endswith("dev.lock") for part in command)
        answer = waiting.pop(0)
        text = "" if answer is None else json.dumps({"dependencies": answer})
        return SimpleNamespace(stdout=text, returncode=0)

    return main("pip-audit", run=run)


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (([SOUND], None), 0),
        (([SKIPPED], [SOUND]), 0),
        (([SOUND], [WEAK]), VULNERABLE),
        (([SKIPPED, WEAK], None), VULNERABLE),
        (([SKIPPED], None), UNKNOWN),
        ((None, None), UNKNOWN),
        (([SOUND, {"name": "other", "skip_reason": "not found"}], None), UNKNOWN),
    ],
)
def test_only_a_whole_audit_without_findings_passes(
    answers: tuple[list[Any] | None, list[Any] | None], code: int
) -> None:
    assert audited(*answers) == code


def test_what_was_not_audited_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    audited([SKIPPED], None)

    assert "nothing was audited" in capsys.readouterr().out


def test_what_is_vulnerable_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    audited([SOUND, WEAK], [WEAK])

    assert "vulnerable: weak: CVE-1\n" in capsys.readouterr().out
