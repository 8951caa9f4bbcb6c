"""What the guides and the README tell the reader to type works, and prints what they show."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.docs.transcripts import TOP, File, Shell, masked, parts

GUIDES = ("first-tool", "record-and-replay", "run-offline", "secrets")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader begins: nothing but the example project, as in a checkout."""
    shutil.copytree(TOP / "tools", tmp_path / "home" / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "home"


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    """What runs in the reader's second terminal."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder / "my-tools" / "library"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def shell(folder: Path, port: int, tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(folder, bin_folder=tmp_path / "bin", replace={"127.0.0.1:8000": f"127.0.0.1:{port}"})
    yield shell
    shell.close()


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_prints_what_it_shows(guide: str, shell: Shell) -> None:
    page = (TOP / "docs/guides" / f"{guide}.md").read_text(encoding="utf-8")
    for part in parts(page):
        if isinstance(part, File):
            shell.save(part)
        else:
            assert masked(shell.run(part.text)) == masked(part.output), part.text


def test_every_guide_is_run() -> None:
    assert sorted(GUIDES) == sorted(path.stem for path in (TOP / "docs/guides").glob("*.md"))
