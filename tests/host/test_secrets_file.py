"""secrets.yaml: read if nobody else can, and never quoted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keelbox.errors import ConfigError, UsageError
from keelbox.secrets_file import FileSecrets


def put(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "secrets.yaml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_values_are_found_by_name(tmp_path: Path) -> None:
    secrets = FileSecrets(put(tmp_path, "# of the shop\nA_KEY: 'one: 1'\nB_KEY: plain-text\n"))
    assert [secrets.get(name) for name in ("A_KEY", "B_KEY", "C_KEY")] == ["one: 1", "plain-text", None]


@pytest.mark.parametrize("text", ["", "# none\n"])
def test_empty_file_has_no_values(tmp_path: Path, text: str) -> None:
    assert FileSecrets(put(tmp_path, text)).get("A_KEY") is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610])
def test_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = put(tmp_path, "A_KEY: hidden-value", mode)
    with pytest.raises(UsageError, match=f"has mode {mode:04o}") as caught:
        FileSecrets(path).get("A_KEY")
    hint = caught.value.hint or ""
    assert hint == f"run: chmod 600 {path}"
    subprocess.run(hint.removeprefix("run: ").split(), check=True)
    assert FileSecrets(path).get("A_KEY") == "hidden-value"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "A_KEY: hidden-value")
    os.chown(path, 65534, 65534)
    with pytest.raises(UsageError, match="belongs to user 65534") as caught:
        FileSecrets(path).get("A_KEY")
    assert caught.value.hint == f"run: sudo chown 0 {path}"


def test_symlink_is_followed_to_a_file_that_is_checked(tmp_path: Path) -> None:
    path = put(tmp_path, "A_KEY: hidden-value", 0o644)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    with pytest.raises(UsageError, match="has mode 0644"):
        FileSecrets(link).get("A_KEY")


def test_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(UsageError, match="is not a file"):
        FileSecrets(tmp_path / "pipe").get("A_KEY")


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        FileSecrets(tmp_path / "secrets.yaml").get("A_KEY")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("A_KEY: 12345678\n", "1:1"),
        ("A_KEY: true\n", "1:1"),
        ("A_KEY:\n", "1:1"),
        ("A_KEY: ''\n", "1:1"),
        ("A_KEY: [hidden-value]\n", "1:1"),
        ("A_KEY: {hidden-value: 1}\n", "1:1"),
        ("A_KEY: *hidden-value\n", "1:8"),
        ("A_KEY: &hidden-value x\n", "1:8"),
        ("A_KEY: !hidden-value x\n", "1:8"),
        ("A_KEY: 12345678901234567890123456789\n", "1:8"),
        ("A_KEY: one\nA_KEY: hidden-value\n", "2:1"),
        ("hidden-value: one\n", "1:1"),
        ("- hidden-value\n", "1:1"),
        ("hidden-value\n", "1:1"),
        ("A_KEY: %hidden-value\n", "1:8"),
        ("A_KEY: 'hidden-value\n", ""),
        ("A_KEY: hidden\x00value\n", "1:14"),
    ],
)
def test_fault_is_told_by_its_place_and_quotes_nothing(tmp_path: Path, text: str, place: str) -> None:
    path = put(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        FileSecrets(path).get("A_KEY")
    (fault,) = caught.value.faults
    assert f"{path}:{place}" in str(fault)
    assert "hidden" not in str(caught.value)
    assert "12345678" not in str(caught.value)


def test_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "")
    path.write_bytes(b"A_KEY: \xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        FileSecrets(path).get("A_KEY")


def test_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="larger than"):
        FileSecrets(put(tmp_path, "#" * 300_000)).get("A_KEY")


def test_traceback_of_a_fault_quotes_nothing(tmp_path: Path) -> None:
    path = put(tmp_path, "A_KEY: *hidden-value\n")
    code = "import sys, pathlib, keelbox.secrets_file as f; f.FileSecrets(pathlib.Path(sys.argv[1])).get('A_KEY')"
    command = [sys.executable, "-c", code, str(path)]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "ConfigError" in done.stderr
    assert "hidden-value" not in done.stderr
