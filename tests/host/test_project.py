"""A project folder: which files it needs, and what one script alone runs as."""

from __future__ import annotations

from pathlib import Path

import pytest

from keelbox.errors import ConfigError, UsageError
from keelbox.limits import load_limits
from keelbox.project import locate_script, open_project
from keelbox.source_folder import SourceFolder

TOOL = "{name: Weather, type: script, entry: weather.js, access: public, side_effect: read}"
JSON_TOOL = '{"name": "Weather", "type": "script", "entry": "weather.js", "access": "public", "side_effect": "read"}'
REGISTRY = f"tools:\n  - {TOOL}\n"
KEEN_REGISTRY = '{"tools": [{"name": "Weather", "type": "script", "entry": "weather.js"}]}'


def test_project_has_tools_and_limits(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)
    (tmp_path / "limits.yaml").write_text("defaults: {wall_s: 7}\n")

    project = open_project(tmp_path)

    assert project.tool("Weather").entry == "weather.js"
    assert project.limits.defaults.wall_s == 7


def test_project_without_limits_file_has_built_in_limits(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)

    assert open_project(tmp_path).limits == load_limits(None)


def test_given_limits_go_before_the_projects_own(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)
    (tmp_path / "limits.yaml").write_text("nonsense: 3\n")

    assert open_project(tmp_path, load_limits(None)).limits == load_limits(None)


def test_faults_of_limits_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)
    (tmp_path / "limits.yaml").write_text("nonsense: 3\n")

    with pytest.raises(ConfigError):
        open_project(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [("tools.json", f'{{"tools": [{JSON_TOOL}]}}'), ("keen-tools.json", KEEN_REGISTRY)],
)
def test_json_registries_open(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert open_project(tmp_path).tool("Weather").type == "script"


def test_two_registries_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)
    (tmp_path / "keen-tools.json").write_text(KEEN_REGISTRY)

    with pytest.raises(UsageError, match=r"more than one registry: tools\.yaml and keen-tools\.json"):
        open_project(tmp_path)


def test_folder_without_registry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no registry in"):
        open_project(tmp_path)


def test_registry_of_nearly_the_right_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "tools.yml").write_text(REGISTRY)

    with pytest.raises(UsageError) as caught:
        open_project(tmp_path)
    assert caught.value.hint == "rename tools.yml to tools.yaml"


def test_registry_file_given_for_its_folder_is_refused_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(REGISTRY)

    with pytest.raises(UsageError) as caught:
        open_project(tmp_path / "tools.yaml")
    assert caught.value.hint == f"give its folder: --project {tmp_path}"


def test_script_runs_in_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "weather.js").write_text("// weather")

    assert locate_script(tmp_path / "weather.js") == (tmp_path, "weather.js")


def test_script_behind_symlink_runs_beside_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "weather.js").write_text("// weather")
    (tmp_path / "link.js").symlink_to("lib/weather.js")

    assert locate_script(tmp_path / "link.js") == (tmp_path / "lib", "weather.js")


@pytest.mark.parametrize(("name", "says"), [("none.js", "no script"), (".", "not a file")])
def test_script_that_is_no_file_is_refused(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        locate_script(tmp_path / name)


def test_example_project_opens() -> None:
    project = open_project(Path(__file__).parents[2] / "tools")

    assert list(project.registry.tools) == ["Current Weather", "Place Lookup", "Book Search"]
    for tool in project.registry.tools.values():
        assert SourceFolder(root=project.root).read(tool.entry)
