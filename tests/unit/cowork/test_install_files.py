"""How settings files are replaced: whole, kept beside, and never over somebody else's change."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.core.errors import BusyError, ConfigError
from mempal.cowork.install import install_hooks, uninstall_hooks
from mempal.cowork.install.store import Settings

CLAUDE = ("claude", "project")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def install(path, **options):
    (result,) = install_hooks([CLAUDE], path.parents[1], **{"dry_run": False, **options}).results
    return result


def uninstall(path, **options):
    options = {"dry_run": False, **options}
    (result,) = uninstall_hooks([CLAUDE], path.parents[1], **options).results
    return result


def names(path):
    return sorted(entry.name for entry in path.parent.iterdir())


def test_a_dry_run_shows_the_difference_and_writes_nothing(tmp_path):
    path = tmp_path / ".claude" / "settings.json"
    result = install(path, dry_run=True)
    assert (result.action, result.backup) == ("registered", None)
    assert result.diff.startswith(f"--- /dev/null\n+++ {path}\n@@ ")
    assert not path.parent.exists()
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    result = install(path, dry_run=True)
    assert '-{"a": 1}\n\\ No newline at end of file\n+{"a": 1, "hooks": ' in result.diff
    assert path.read_text() == '{"a": 1}'
    assert names(path) == ["settings.json"]
    install(path)
    before = path.read_bytes()
    assert uninstall(path, dry_run=True).action == "removed"
    assert path.read_bytes() == before


def test_a_difference_tells_no_secret(path):
    path.write_text('{"env": {"GITHUB_TOKEN": "ghp_%s"}}' % ("aB3dE5gH7jK9" * 3))
    assert "ghp_aB3d" not in install(path).diff
    assert "ghp_aB3d" in path.read_text()


def test_a_new_file_is_plain_and_goes_again(path):
    result = install(path)
    assert result.backup is None
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    assert json.loads(path.read_text())["hooks"]["UserPromptSubmit"]
    assert names(path) == ["settings.json"]
    assert uninstall(path).action == "removed"
    assert names(path) == []
    assert uninstall(path).action == "absent"
    assert names(path) == []


def test_a_file_of_ours_goes_though_it_was_healed_once(path):
    install(path)
    path.write_text(path.read_text().replace("/mempal ", "/elsewhere/mempal "))
    result = install(path)
    assert (result.action, result.backup) == ("healed", None)
    uninstall(path)
    assert names(path) == []


@pytest.mark.parametrize(
    "text",
    ["{}", '{"hooks":{}}\n', '{"hooks": {"UserPromptSubmit": []}}', '{"hooks":{"Stop":[]},"a":1}'],
)
def test_what_was_there_before_us_comes_back(path, text):
    path.write_text(text)
    install(path)
    uninstall(path)
    assert json.loads(path.read_text()) == json.loads(text)


def test_a_file_that_grew_since_is_kept(path):
    install(path)
    settings = json.loads(path.read_text()) | {"model": "x"}
    path.write_text(json.dumps(settings))
    uninstall(path)
    assert path.read_text() == '{"model": "x"}'


def test_mode_and_owner_stay_and_so_do_those_of_the_copy(path):
    path.write_text('{"a": 1}')
    path.chmod(0o640)
    result = install(path)
    assert {stat.S_IMODE(Path(one).stat().st_mode) for one in (path, result.backup)} == {0o640}


def test_each_state_is_kept_once_and_the_first_never_gives_way(path):
    first = path.with_name("settings.json.mempal-backup")
    for number in range(12):
        path.write_text(f'{{"a": {number}}}')
        install(path)
    assert names(path) == sorted(
        ["settings.json", first.name, *(f"{first.name}.{n}" for n in range(1, 10))]
    )
    assert first.read_text() == '{"a": 0}'
    assert first.with_name(f"{first.name}.9").read_text() == '{"a": 11}'
    path.write_text('{"a": 3}')
    assert install(path).backup == f"{first}.3"


def test_a_link_to_nowhere_yet_is_followed(path, tmp_path):
    target = tmp_path / "dotfiles" / "settings.json"
    path.symlink_to(target)
    install(path)
    assert path.is_symlink()
    assert json.loads(target.read_text())["hooks"]
    uninstall(path)
    assert path.is_symlink()
    assert json.loads(target.read_text()) == {}


def test_links_in_a_circle_and_folders_are_told(path):
    path.symlink_to(path.name)
    with pytest.raises(ConfigError) as caught:
        install(path)
    assert caught.value.message.startswith(f"{path} cannot be read")
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError) as caught:
        install(path)
    assert caught.value.message.startswith(f"{path} cannot be read")


def test_a_disk_that_refuses_leaves_all_as_it_was(path, monkeypatch):
    path.write_text('{"a": 1}')

    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ConfigError) as caught:
        install(path)
    assert caught.value.message == f"{path} cannot be written (No space left on device)"
    assert path.read_text() == '{"a": 1}'
    assert names(path) == ["settings.json"]


def test_a_folder_that_was_made_in_vain_goes(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ConfigError, match="Permission denied"):
        install(tmp_path / ".claude" / "settings.json")
    assert list(tmp_path.iterdir()) == []


def test_a_change_in_between_is_not_lost(path, monkeypatch):
    path.write_text('{"a": 1}')
    write = Settings._write_beside
    edits = ['{"a": 2}']

    def meanwhile(self, data, mode):
        beside = write(self, data, mode)
        if edits and b"cowork-drain" in data:
            path.write_text(edits.pop())
        return beside

    monkeypatch.setattr(Settings, "_write_beside", meanwhile)
    assert install(path).action == "registered"
    assert path.read_text().startswith('{"a": 2, "hooks": ')
    assert not [name for name in names(path) if name.endswith(".tmp")]


def test_who_never_stops_writing_wins(path, monkeypatch):
    path.write_text('{"a": 1}')
    write = Settings._write_beside

    def meanwhile(self, data, mode):
        beside = write(self, data, mode)
        if b"cowork-drain" in data:
            path.write_text(path.read_text() + " ")
        return beside

    monkeypatch.setattr(Settings, "_write_beside", meanwhile)
    with pytest.raises(BusyError):
        install(path)
    assert path.read_text() == '{"a": 1}   '


def test_a_held_folder_is_told(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("mempal.cowork.install.store._PATIENCE_SECONDS", 0)
    path.write_text("{}")
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="another process"):
            install(path)
    finally:
        os.close(descriptor)
    assert install(path).action == "registered"


def test_processes_at_once_add_one_handler(path):
    path.write_text('{"a": 1}')
    program = (
        "import pathlib, sys\n"
        "from mempal.cowork.install import install_hooks\n"
        "sys.stdin.read()\n"
        f"install_hooks([{CLAUDE!r}], pathlib.Path(sys.argv[1]), dry_run=False)\n"
    )
    arguments = [sys.executable, "-c", program, str(path.parents[1])]
    processes = [subprocess.Popen(arguments, stdin=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        process.stdin.close()  # all have loaded, or nearly so
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    settings = json.loads(path.read_text())
    assert (settings["a"], len(settings["hooks"]["UserPromptSubmit"])) == (1, 1)
    assert names(path) == ["settings.json", "settings.json.mempal-backup"]


def test_a_file_that_is_locked_keeps_the_others_from_being_written(path, monkeypatch):
    path.write_text("{}")
    codex = path.parents[1] / ".codex" / "hooks.json"
    codex.parent.mkdir()
    codex.write_text("{}")
    access = os.access
    monkeypatch.setattr(os, "access", lambda at, how: Path(at) != codex and access(at, how))
    with pytest.raises(ConfigError) as caught:
        install_hooks([CLAUDE, ("codex", "project")], path.parents[1], dry_run=False)
    assert caught.value.message == f"{codex} is read-only"
    assert path.read_text() == "{}"
    assert names(path) == ["settings.json"]
