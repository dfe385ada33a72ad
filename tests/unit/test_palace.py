"""The verbs of the palace where they decide something themselves."""

import pytest

from mempal.core.errors import MempalError, NotFoundError
from tests.cases.support import mine, open_at
from tests.repositories import write_files


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_path_that_is_not_there_starts_no_palace(isolation, tmp_path, dry_run):
    with pytest.raises(NotFoundError, match="nowhere does not exist"):
        mine(open_at(isolation.palace), tmp_path / "nowhere", dry_run=dry_run)
    assert not isolation.palace.exists()


@pytest.mark.parametrize("names", [{"wing": "a\nb"}, {"room": " "}, {"wing": "w" * 201}])
def test_a_name_that_cannot_be_starts_no_palace(isolation, tmp_path, names):
    write_files(tmp_path / "tree", {"a.md": "alpha\n"})
    with pytest.raises(MempalError):
        mine(open_at(isolation.palace), tmp_path / "tree", **names)
    assert not isolation.palace.exists()
