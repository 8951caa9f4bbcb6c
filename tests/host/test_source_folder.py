"""Script sources come out of their folder only, whatever a name or a symlink says."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keelbox.errors import UsageError
from keelbox.source_folder import SourceFolder, module_name_problem

SECRET = "canary"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside a file that must not be read."""
    (tmp_path / "secret.js").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.js").write_text(SECRET)
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "weather.js").write_text("export const exec = 1;")
    (root / "lib" / "units.js").write_text("// units")
    return root


@pytest.fixture
def folder(project: Path) -> SourceFolder:
    return SourceFolder(root=project)


def test_file_of_the_folder_is_read(folder: SourceFolder) -> None:
    assert folder.read("weather.js") == "export const exec = 1;"
    assert folder.read("lib/units.js") == "// units"


@pytest.mark.parametrize("name", ["none.js", "lib/none.js", "none/x.js", "weather.js/x.js", "a" * 5000, "%2e%2e/x.js"])
def test_file_that_is_absent_gives_none(folder: SourceFolder, name: str) -> None:
    assert folder.read(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "../secret.js",
        "lib/../../secret.js",
        "lib/../weather.js",
        "/etc/hostname",
        "..\\secret.js",
        "lib\\units.js",
        "./weather.js",
        "lib//units.js",
        "lib/",
        "",
        ".",
        "..",
        "weather.js\0.txt",
        "weather\n.js",
        "\udcff.js",
    ],
)
def test_name_that_is_no_plain_relative_path_is_refused(folder: SourceFolder, name: str) -> None:
    """M2, M3, M6."""
    with pytest.raises(UsageError):
        folder.read(name)


@pytest.mark.parametrize(
    ("link", "target", "name"),
    [
        ("link.js", "../secret.js", "link.js"),
        ("link.js", "{absolute}", "link.js"),
        ("out", "../outside", "out/secret.js"),
        ("lib/out", "../../outside", "lib/out/secret.js"),
        ("up", "..", "up/secret.js"),
        ("proc", "/proc/self/root", "proc/etc/hostname"),
    ],
)
def test_symlink_that_leaves_the_folder_is_refused(
    project: Path, folder: SourceFolder, link: str, target: str, name: str
) -> None:
    (project / link).symlink_to(target.replace("{absolute}", str(project.parent / "secret.js")))
    assert (project / name).read_text()  # the file itself is readable

    with pytest.raises(UsageError, match="leaves the folder"):
        folder.read(name)


def test_symlink_inside_the_folder_is_followed(project: Path, folder: SourceFolder) -> None:
    (project / "link.js").symlink_to("lib/units.js")
    (project / "shared").symlink_to("lib")

    assert folder.read("link.js") == folder.read("shared/units.js") == "// units"


def test_folder_of_similar_name_beside_is_outside(project: Path, folder: SourceFolder) -> None:
    """A comparison of texts would take /a/project-two for a part of /a/project."""
    twin = project.with_name("project-two")
    twin.mkdir()
    (twin / "x.js").write_text(SECRET)
    (project / "x.js").symlink_to(twin / "x.js")

    with pytest.raises(UsageError, match="leaves the folder"):
        folder.read("x.js")


def test_folder_that_is_itself_a_symlink_is_read(project: Path) -> None:
    link = project.with_name("link")
    link.symlink_to(project)

    assert SourceFolder(root=link).read("lib/units.js") == "// units"


def test_symlink_put_in_place_after_the_check_is_not_followed(
    project: Path, folder: SourceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is swapped for a symlink between the check and the opening."""
    resolve = Path.resolve

    def resolve_and_swap(path: Path, strict: bool = False) -> Path:
        resolved = resolve(path, strict=strict)
        (project / "lib").rename(project / "old")
        (project / "lib").symlink_to(project.parent / "outside")
        return resolved

    (project / "lib" / "secret.js").write_text("// harmless")
    monkeypatch.setattr(Path, "resolve", resolve_and_swap)

    assert folder.read("lib/secret.js") is None
    assert (project / "lib" / "secret.js").read_text() == SECRET


def test_loop_of_symlinks_is_refused(project: Path, folder: SourceFolder) -> None:
    (project / "a.js").symlink_to("b.js")
    (project / "b.js").symlink_to("a.js")

    with pytest.raises(UsageError, match="cannot be read"):
        folder.read("a.js")


@pytest.fixture
def listening(project: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as unix, pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)  # the path of a socket must be short
        unix.bind("socket.js")
        yield "socket.js"


def test_pipe_is_refused_without_waiting_for_a_writer(project: Path, folder: SourceFolder) -> None:
    os.mkfifo(project / "pipe.js")

    with pytest.raises(UsageError, match="not a file"):
        folder.read("pipe.js")


def test_socket_is_refused(folder: SourceFolder, listening: str) -> None:
    with pytest.raises(UsageError):
        folder.read(listening)


@pytest.mark.parametrize("name", ["lib", "self"])
def test_folder_is_no_module(project: Path, folder: SourceFolder, name: str) -> None:
    (project / "self").symlink_to(".")

    with pytest.raises(UsageError, match="a folder, not a file"):
        folder.read(name)


def test_refusals_leave_no_descriptor_open(project: Path, folder: SourceFolder) -> None:
    os.mkfifo(project / "pipe.js")
    before = len(list(Path("/proc/self/fd").iterdir()))

    for name in ["lib", "pipe.js", "none.js", "lib/none.js", "../x"] * 10:
        try:
            assert folder.read(name) is None
        except UsageError as error:
            assert error.message

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_source_of_exactly_the_limit_is_read(project: Path) -> None:
    (project / "big.js").write_bytes(b"x" * 2048)

    assert SourceFolder(root=project, source_kib=2).read("big.js") == "x" * 2048


def test_source_over_the_limit_is_refused(project: Path) -> None:
    (project / "big.js").write_bytes(b"x" * 2049)

    with pytest.raises(UsageError, match=r"larger than source_kib allows \(2 KiB\)"):
        SourceFolder(root=project, source_kib=2).read("big.js")


def test_byte_order_mark_is_dropped(project: Path, folder: SourceFolder) -> None:
    (project / "bom.js").write_bytes(b"\xef\xbb\xbflet a;")

    assert folder.read("bom.js") == "let a;"


def test_source_that_is_not_utf8_is_refused_with_its_line(project: Path, folder: SourceFolder) -> None:
    (project / "latin.js").write_bytes(b"let a;\nlet b = '\xe9';")

    with pytest.raises(UsageError, match="byte 0xe9 in line 2"):
        folder.read("latin.js")


@pytest.mark.parametrize("name", ["none", "weather.js"])
def test_root_that_is_no_folder_is_refused(project: Path, name: str) -> None:
    with pytest.raises(UsageError):
        SourceFolder(root=project / name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.lists(st.sampled_from(["..", ".", "/", "lib", "a", "\\", "%2e", "\0", "secret.js"]), max_size=7).map(
        "".join
    )
)
def test_no_name_reads_outside(folder: SourceFolder, name: str) -> None:
    try:
        source = folder.read(name)
    except UsageError:
        return

    assert source != SECRET
    assert module_name_problem(name) is None


@pytest.mark.parametrize("name", ["secrets.yaml", "SECRETS.YAML", "lib/other.yml", "link.js"])
def test_yaml_file_is_never_read(tmp_path: Path, name: str) -> None:
    """``KEY: "value"`` is a line of JavaScript: without this rule a script could import the project's secrets."""
    (tmp_path / "lib").mkdir()
    for path in ("secrets.yaml", "SECRETS.YAML", "lib/other.yml"):
        (tmp_path / path).write_text('KEY: "hidden-value"\n', encoding="utf-8")
    (tmp_path / "link.js").symlink_to("secrets.yaml")

    with pytest.raises(UsageError, match="is a YAML file, which a script never reads"):
        SourceFolder(root=tmp_path).read(name)
