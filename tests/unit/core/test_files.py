"""Reading files that somebody else may have arranged."""

import os
from pathlib import Path

import pytest

from mempal.core.files import is_inside, open_regular, read_linked, read_regular


def test_a_file_is_read_up_to_its_limit(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\x00\r\n\xff")
    assert read_regular(file, 4) == b"\x00\r\n\xff"
    with pytest.raises(OSError, match="is larger than 3 bytes"):
        read_regular(file, 3)
    file.write_bytes(b"")
    assert read_regular(file, 0) == b""


def test_what_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "missing", 10)
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(NotADirectoryError):
        read_regular(tmp_path / "file" / "below", 10)
    with pytest.raises(ValueError, match="null"):
        read_regular(tmp_path / "a\0b", 10)


def test_a_folder_is_not_read(tmp_path):
    with pytest.raises(OSError, match=r"regular file|directory"):
        read_regular(tmp_path, 10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_pipe_is_neither_read_nor_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is not a regular file"):
        read_regular(pipe, 10)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
def test_a_device_is_not_read():
    with pytest.raises(OSError, match="is not a regular file"):
        read_regular(Path("/dev/zero"), 10)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret", "utf-8")
    link = tmp_path / "link"
    link.symlink_to("secret")
    with pytest.raises(OSError, match=r"symbolic link|link"):
        read_regular(link, 10)


def test_a_link_of_the_owners_is_followed_to_a_regular_file(tmp_path):
    (tmp_path / "kept elsewhere").write_bytes(b"text")
    link = tmp_path / "link"
    link.symlink_to("kept elsewhere")
    assert read_linked(link, 4) == read_linked(tmp_path / "kept elsewhere", 4) == b"text"
    (tmp_path / "kept elsewhere").unlink()
    with pytest.raises(FileNotFoundError):
        read_linked(link, 4)
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="link"):
        read_linked(tmp_path / "circle", 4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_link_to_a_pipe_is_neither_read_nor_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match="is not a regular file"):
        read_linked(tmp_path / "link", 10)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs a list of open files")
def test_a_refusal_leaves_nothing_open(tmp_path):
    def count_open() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = count_open()
    for _ in range(5):
        with pytest.raises(OSError, match="is not a regular file"):
            open_regular(tmp_path)
    assert count_open() == before


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("root/file", True),
        ("root/sub/file", True),
        ("root/missing/file", True),
        ("root/../outside/file", False),
        ("root/out/file", False),
        ("root/in/file", True),
        ("outside/file", False),
        ("root-too/file", False),
        ("root/a\0b/file", False),
        ("root/loop/file", False),
    ],
)
def test_a_path_is_inside_only_after_every_link(tmp_path, path, inside):
    for folder in ("root/sub", "outside", "root-too"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "root/out").symlink_to(tmp_path / "outside")
    (tmp_path / "root/in").symlink_to("sub")
    (tmp_path / "root/loop").symlink_to("loop")
    assert is_inside(tmp_path / "root", tmp_path / path) is inside


def test_a_root_may_itself_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    assert is_inside(tmp_path / "alias", tmp_path / "real/file")
    assert is_inside(tmp_path / "real", tmp_path / "alias/file")
