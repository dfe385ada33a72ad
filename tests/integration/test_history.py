"""``mine --git-log``: what commits say is found beside what files say, and follows the history."""

import random
import string
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import open_at
from tests.repositories import NO_GIT, make_repository, run_git, write_files
from tests.transcripts import list_drawers, spill, tell, with_word

WHY = """\
Drop the redis cache

It answered with prices of yesterday whenever a shard was moved, and nobody could tell when. The
database alone is fast enough since the index on price.

Reviewed-by: Ada Tester <ada@mempal.test>
"""
TOKEN = "gh" + "p_" + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=36))


@pytest.fixture(autouse=True)
def dates(monkeypatch):
    """Commits are a day apart, from the first of March on."""
    days = iter(range(1, 31))

    def commit(root: Path, message: str, *options: str, author: str = "Ada Tester") -> str:
        moment = f"2026-03-{next(days):02d}T12:00:00Z"
        monkeypatch.setenv("GIT_AUTHOR_DATE", moment)
        monkeypatch.setenv("GIT_COMMITTER_DATE", moment)
        monkeypatch.setenv("GIT_AUTHOR_NAME", author)
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "--allow-empty", "-m", message, *options)
        return run_git(root, "rev-parse", "HEAD").strip()

    return commit


@pytest.fixture
def repo(dates, tmp_path):
    """A shop that dropped its cache; its files say how things are, its commits say why."""
    root = tmp_path / "shop"
    write_files(
        root,
        {
            "cache.py": "def read_cache(key):\n    return redis.get(key)\n",
            "docs/cache.md": "# Caching\n\nPrices are cached by the shop's own process.\n",
            "docs/redis.md": "# Redis\n\nRedis holds the sessions of the shop.\n",
        },
    )
    run_git(root, "init", "-q")
    dates(root, "Read prices through a cache in redis")
    (root / "cache.py").unlink()
    dates(root, WHY)
    write_files(root, {"price.py": "def read_price(key):\n    return database.read(key)\n"})
    dates(root, "Index prices by product\n\nzqindex lookups took a second.")
    return root


@pytest.fixture
def mine(run):
    def call(root: Path, *options: str) -> dict:
        done = run("mine", root, "--wing", "w", "--git-log", "--json", *options)
        assert done.code == 0, done.stderr
        return done.json

    return call


@pytest.fixture
def look(isolation):
    return lambda: tell(list_drawers(open_at(isolation.palace), history=True))


def history_of(palace: Path) -> list:
    drawers = list_drawers(open_at(palace))
    return [drawer for drawer in drawers if drawer.source_class is SourceClass.COMMIT]


# --- what is stored -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "why did we drop redis",
        "Why was the redis cache dropped?",
        "drop the cache",
        "redis cache dropped",
    ],
)
def test_why_something_was_dropped_is_found_among_files(run, mine, repo, question):
    report = mine(repo)
    assert report["files"]["mined"] == 3
    best = run("search", question, "--wing", "w", "--json").json["results"][0]
    assert best["content"].startswith("Drop the redis cache\n\nIt answered with prices")
    assert (best["source_class"], best["room"]) == ("commit", "history")


def test_a_commit_is_cited_by_its_id(run, mine, repo):
    mine(repo)
    sha = run_git(repo, "rev-parse", "HEAD~1").strip()
    best = run("search", "drop the redis cache", "--json").json["results"][0]
    assert best["source_file"] == f"commit/{sha}"
    assert best["commit"] == sha
    assert (best["speaker"], best["said_at"]) == ("Ada Tester", "2026-03-02T12:00:00.000Z")
    assert best["root"] == str(repo)
    shown = run("show", best["drawer_id"], "--json").json
    assert (shown["commit"], shown["content"]) == (sha, best["content"])
    for query in (sha, sha[:12], sha[:7]):
        hits = run("search", query, "--json").json["results"]
        assert sha in [hit["commit"] for hit in hits if hit["source_class"] == "commit"]


def test_text_trailers_and_files_of_a_commit_are_whole(isolation, mine, repo):
    mine(repo)
    (drawer,) = with_word(history_of(isolation.palace), "answered")
    for part in ("prices of yesterday", "Reviewed-by: Ada Tester <ada@mempal.test>", "cache.py"):
        assert part in drawer.content
    assert list(spill(isolation.palace, ["redis.get(key)"])) == []  # what was removed from files


def test_merges_and_robots_are_folded_and_counted(isolation, mine, dates, repo):
    run_git(repo, "checkout", "-q", "-b", "topic")
    dates(repo, "Say zqtopic what was learned")
    run_git(repo, "checkout", "-q", "main")
    dates(repo, "Bump requests from 2.31.0 to 2.32.0", author="dependabot[bot]")
    dates(repo, "wip")
    run_git(repo, "merge", "-q", "--no-ff", "topic", "-m", "Merge branch 'topic'")
    (history,) = mine(repo)["history"]
    assert history["root"] == str(repo)
    assert (history["read"], history["stored"]) == (7, 4)
    assert history["folded"] == {"bot": 1, "draft": 1, "merge": 1}
    words = " ".join(drawer.content for drawer in history_of(isolation.palace))
    assert "zqtopic" in words
    assert not [word for word in ("Bump", "wip", "Merge branch") if word in words]


def test_secrets_of_a_message_are_taken_out_and_counted(run, isolation, mine, dates, repo):
    dates(repo, f"Rotate the zqtoken of the robot\n\nIt was {TOKEN} until today.")
    report = mine(repo)
    assert sum(report["redactions"].values()) == 1
    assert list(spill(isolation.palace, [TOKEN])) == []
    best = run("search", "zqtoken robot", "--json").json["results"][0]
    assert "Rotate the zqtoken of the robot" in best["content"]
    assert "until today" in best["content"]


def test_a_room_can_be_named(isolation, mine, repo):
    mine(repo, "--room", "why")
    assert {drawer.room for drawer in history_of(isolation.palace)} == {"why"}


def test_without_being_asked_no_history_is_read(run, isolation, repo):
    report = run("mine", repo, "--wing", "w", "--json").json
    assert report["history"] == []
    assert history_of(isolation.palace) == []


# --- what is new ----------------------------------------------------------------------------------


def test_a_second_run_reads_nothing_and_a_third_only_what_is_new(mine, look, dates, repo):
    (first,) = mine(repo)["history"]
    assert (first["read"], first["stored"]) == (3, 3)
    before = look()
    report = mine(repo)
    (second,) = report["history"]
    assert (second["read"], second["stored"]) == (0, 0)
    assert report["drawers"]["added"] == 0
    assert report["run"] is None
    assert look() == before
    dates(repo, "Explain zqnew how prices are read")
    report = mine(repo)
    (third,) = report["history"]
    assert (third["read"], third["stored"], report["drawers"]["added"]) == (1, 1, 1)


def test_an_amended_commit_supersedes_the_old_one(run, isolation, mine, look, dates, repo):
    dates(repo, "zqfirst wording of it")
    mine(repo)
    before = {drawer.id for drawer in history_of(isolation.palace)}
    dates(repo, "zqsecond wording of it", "--amend")
    report = mine(repo)
    assert (report["drawers"]["added"], report["drawers"]["superseded"]) == (1, 1)
    current = history_of(isolation.palace)
    assert with_word(current, "zqfirst") == []
    assert len(with_word(current, "zqsecond")) == 1
    assert len(before & {drawer.id for drawer in current}) == 3
    past = run("search", "zqfirst wording", "--all", "--json").json["results"]
    assert [hit for hit in past if "zqfirst" in hit["content"] and hit["superseded_at"]]
    after = look()
    assert mine(repo)["drawers"]["added"] == 0
    assert look() == after


def test_a_commit_that_returns_is_restored(isolation, mine, look, dates, repo):
    mine(repo)
    before = look()
    last = run_git(repo, "rev-parse", "HEAD").strip()
    run_git(repo, "reset", "-q", "--hard", "HEAD~1")
    dates(repo, "zqdetour taken back later")
    mine(repo)
    assert with_word(history_of(isolation.palace), "zqindex") == []
    run_git(repo, "reset", "-q", "--hard", last)
    changes = mine(repo)["drawers"]
    assert changes["restored"] >= 1
    assert with_word(history_of(isolation.palace), "zqdetour") == []
    assert set(before) <= set(look())


def test_a_rebased_branch_is_stored_once(isolation, mine, dates, repo):
    run_git(repo, "checkout", "-q", "-b", "topic", "HEAD~1")
    dates(repo, "zqrebased say it once")
    mine(repo)
    run_git(repo, "rebase", "-q", "main")
    mine(repo)
    current = history_of(isolation.palace)
    assert len(with_word(current, "zqrebased")) == 1
    assert len(with_word(current, "zqindex")) == 1


@pytest.mark.parametrize(
    ("since", "read"), [("2026-03-02", 2), ("2026-03-03T00:00:00Z", 1), ("HEAD~2", 2), ("HEAD", 0)]
)
def test_since_a_day_or_a_revision(mine, repo, since, read):
    (history,) = mine(repo, "--since", since)["history"]
    assert (history["read"], history["stored"]) == (read, read)


def test_what_lies_before_since_can_be_read_later(isolation, mine, repo):
    mine(repo, "--since", "HEAD~1")
    assert len(history_of(isolation.palace)) == 1
    assert mine(repo)["drawers"]["added"] == 2
    mine(repo, "--since", "HEAD~1")
    assert len(history_of(isolation.palace)) == 3


def test_a_dry_run_stores_nothing(isolation, mine, repo):
    report = mine(repo, "--dry-run")
    assert report["history"][0]["stored"] == 3
    assert not isolation.palace.exists()


def test_reading_history_can_be_undone(run, mine, look, dates, repo):
    mine(repo)
    before = look()
    dates(repo, "zqundone says something new")
    number = mine(repo)["run"]
    after = look()
    assert run("undo", str(number)).code == 0
    assert look() == before
    assert mine(repo)["history"][0]["read"] == 1
    assert look() == after


# --- where there is none --------------------------------------------------------------------------


def test_outside_of_git_it_is_an_error_and_nothing_is_stored(run, isolation, tmp_path):
    tree = write_files(tmp_path / "plain", {"a.md": "zqa\n"})
    done = run("mine", tree, "--git-log", "--wing", "w")
    assert done.code == 1
    assert str(tree) in done.stderr
    assert "is in no git repository" in done.stderr
    assert "hint: " in done.stderr
    assert not isolation.palace.exists()
    assert run("mine", tree, "--since", "HEAD").code == 2


def test_a_since_that_says_nothing_to_git_is_refused(run, isolation, repo):
    for since in ("no-such-thing", "--all", "--output=x"):
        done = run("mine", repo, "--git-log", "--wing", "w", f"--since={since}")
        assert done.code == 2
        assert "neither a revision nor a date" in done.stderr
        assert "hint: " in done.stderr
    assert not list(repo.glob("x"))
    assert not isolation.palace.exists() or history_of(isolation.palace) == []


def test_a_repository_without_a_commit_has_a_warning(run, isolation, tmp_path):
    root = write_files(tmp_path / "unborn", {"a.md": "zqa\n"})
    run_git(root, "init", "-q")
    done = run("mine", root, "--git-log", "--wing", "w", "--json")
    assert done.code == 0
    assert done.json["files"]["mined"] == 1
    assert any("history" in warning for warning in done.json["warnings"])


def test_without_a_git_program_files_are_mined_all_the_same(run, monkeypatch, isolation, repo):
    monkeypatch.setenv("PATH", NO_GIT["PATH"])
    done = run("mine", repo, "--git-log", "--wing", "w", "--json")
    assert done.code == 0
    assert f"{repo}: git cannot tell the history of this repository" in done.json["warnings"]
    assert done.json["files"]["mined"] == 3
    assert history_of(isolation.palace) == []


def test_a_repository_below_the_named_folder_is_its_own(mine, repo, dates):
    inner = make_repository(repo / "vendor" / "inner", {"i.md": "zqinner\n"})
    dates(inner, "zqinside a repository of its own")
    (history,) = mine(repo)["history"]
    assert history["root"] == str(repo)
    (history,) = mine(repo / "vendor" / "inner")["history"]
    assert history["root"] == str(inner)
