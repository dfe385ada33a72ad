"""The history of real repositories, read by real git."""

import os
import subprocess
import sys
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories
from mempal.adapters.git.command import Git
from mempal.core.commits import MOST_FILES, ChangedFile
from mempal.core.errors import SourceError, UsageError
from mempal.core.model import Repository
from mempal.ingest.history import read_history
from tests.repositories import NO_GIT, commit_all, make_repository, run_git, write_files


def list_commits(root, since=None, after=None, repositories=None):
    repositories = repositories or GitRepositories()
    listing = repositories.list_commits(repositories.find(root), since, after)
    assert listing is not None
    return listing


def subjects(root, since=None, after=None):
    return [commit.subject for commit in list_commits(root, since, after).commits]


def commit(root: Path, message: str | bytes, *options: str, **variables: str) -> str:
    """Commit all there is with a message that git leaves alone; return the id."""
    run_git(root, "add", "-A")
    given = message if isinstance(message, bytes) else message.encode()
    subprocess.run(
        [
            *("git", "commit", "-q", "--allow-empty", "--allow-empty-message"),
            *("--cleanup=verbatim", *options, "-F", "-"),
        ],
        cwd=root,
        input=given,
        check=True,
        env={**os.environ, **variables},
    )
    return run_git(root, "rev-parse", "HEAD").strip()


def write_commit(root: Path, headers: str, message: bytes = b"old") -> str:
    """Make a commit object of any content the checked-out one."""
    tree = run_git(root, "rev-parse", "HEAD^{tree}").strip()
    data = f"tree {tree}\n{headers}\n\n".encode() + message
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=root,
        input=data,
        check=True,
        capture_output=True,
    )
    sha = done.stdout.decode().strip()
    run_git(root, "update-ref", "HEAD", sha)
    return sha


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "tree", {"a.md": "a\n"})


def import_history(folder: Path, count: int) -> Path:
    """Make a repository of many commits at once."""
    lines = []
    for number in range(1, count + 1):
        lines.append(f"commit refs/heads/main\nmark :{number}")
        lines.append(f"committer Ada <ada@mempal.test> {1_600_000_000 + number} +0000")
        message = f"Change {number}\n\n" + "because " * 60
        lines.append(f"data {len(message)}\n{message}")
        lines.append(f"M 644 inline f{number % 9}.txt\ndata 5\n{number % 10000:05}")
    run_git(folder.parent, "init", "-q", str(folder))
    given = ("\n".join(lines) + "\n").encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=given, check=True)
    return folder


def test_a_commit_is_told_with_all_its_parts(root):
    first = run_git(root, "rev-parse", "HEAD").strip()
    write_files(root, {"b.md": "b\n" * 30})
    second = commit(root, "Add b\n", "--date=2024-02-01T10:00:00+02:00")
    run_git(root, "mv", "b.md", "c.md")
    write_files(root, {"c.md": "b\n" * 30 + "c\n"})
    (root / "a.md").unlink()
    message = "Drop a, rename b\n\nNobody read it.\n\nMore.\n\nFixes: #3\nReviewed-by: B\n\n"
    third = commit(root, message.replace("\n", "\r\n"), "--author=Zoë <z@mempal.test>")
    listed = list(list_commits(root).commits)
    assert [one.sha for one in listed] == [first, second, third]
    assert [one.parents for one in listed] == [(), (first,), (second,)]
    assert listed[0].files == (ChangedFile("A", "a.md"),)
    assert listed[1].authored_at == 1_706_774_400_000
    assert listed[1].committed_at > listed[1].authored_at
    last = listed[2]
    assert (last.author, last.subject) == ("Zoë", "Drop a, rename b")
    assert last.body == "Nobody read it.\n\nMore."
    assert last.trailers == (("Fixes", "#3"), ("Reviewed-by", "B"))
    assert last.files == (ChangedFile("D", "a.md"), ChangedFile("R", "c.md", "b.md"))
    assert last.file_count == 2


@pytest.mark.parametrize(
    "message",
    [
        "0" * 40 + "\n\nM\n\n" + "1" * 40,
        "A\n\n%H%x00%P %x00\\0\\x00",
        "\x01\x02\x1e\x1f\x1b[31m red\n\nM\ta.md\n",
        "R100\n\na.md\nb.md",
        "--output=/tmp/x\n\n$(touch x) `touch x`",
        "# no comment\n\n# Conflicts:\n#\ta.md",
        "commit " + "a" * 40 + "\nAuthor: nobody",
        "\u2028\u202e\ufeff mixed \U0001f600\n\n\t indented\n\n   body",
    ],
)
def test_whatever_a_message_says_is_only_a_message(root, message):
    write_files(root, {"M": "m\n", "1" * 40: "x\n"})
    adversarial = commit(root, message)
    after = commit(root, "after")
    listed = list(list_commits(root).commits)
    assert [one.sha for one in listed[1:]] == [adversarial, after]
    found = f"{listed[1].subject} {listed[1].body}"
    assert found.split() == message.split()
    assert {file.path for file in listed[1].files} == {"M", "1" * 40}
    assert listed[2].subject == "after"


def test_messages_of_any_encoding_are_read(root):
    run_git(root, "config", "i18n.commitEncoding", "ISO-8859-1")
    run_git(root, "config", "i18n.logOutputEncoding", "UTF-16")
    commit(root, "caf\u00e9".encode("latin-1"))
    run_git(root, "config", "--unset", "i18n.commitEncoding")
    commit(root, "")
    commit(root, " \r\n\n ")
    assert subjects(root)[1:] == ["café", "", ""]
    write_commit(root, "author \u00e9 <a@b> 0 +0000\ncommitter A <a@b> 0 +0000", b"\xff\xfe bytes")
    (broken,) = list_commits(root).commits
    assert (broken.author, broken.subject) == ("é", "\ufffd\ufffd bytes")


def test_only_what_is_new_is_listed_behind_a_commit(root):
    first = run_git(root, "rev-parse", "HEAD").strip()
    second = commit(root, "second")
    third = commit(root, "third")
    listing = list_commits(root, after=first)
    assert not listing.complete
    assert [one.sha for one in listing.commits] == [second, third]
    listing = list_commits(root, after=third)
    assert not listing.complete
    assert list(listing.commits) == []
    assert list_commits(root).complete


def test_a_branch_that_is_merged_later_is_new_although_its_commits_are_older(root):
    run_git(root, "switch", "-qc", "side")
    side = commit(root, "side", GIT_COMMITTER_DATE="2001-01-01T00:00:00Z")
    run_git(root, "switch", "-q", "main")
    last = commit(root, "main")
    assert side not in [one.sha for one in list_commits(root).commits]
    run_git(root, "merge", "-q", "--no-edit", "side")
    listed = [one.sha for one in list_commits(root, after=last).commits]
    assert listed == [side, run_git(root, "rev-parse", "HEAD").strip()]


def test_reading_may_stop_anywhere_and_go_on(root):
    for name in ("x", "y"):
        run_git(root, "switch", "-qc", name, "main")
        write_files(root, {name: "1\n"})
        commit(root, f"{name} 1")
        commit(root, f"{name} 2")
    run_git(root, "switch", "-q", "main")
    run_git(root, "merge", "-q", "--no-ff", "--no-edit", "x", "y")
    whole = {one.sha for one in list_commits(root).commits}
    assert len(whole) == 6
    for count in range(1, 7):
        read = [one.sha for one in islice(list_commits(root).commits, count)]
        rest = {one.sha for one in list_commits(root, after=read[-1]).commits}
        assert rest | set(read) == whole


@pytest.mark.parametrize("after", ["f" * 40, "", "HEAD", "main", "--all", "--output=x", "^HEAD"])
def test_behind_a_commit_that_is_unknown_all_is_listed(root, after):
    commit(root, "second")
    listing = list_commits(root, after=after)
    assert listing.complete
    assert len(list(listing.commits)) == 2
    assert not (root / "x").exists()


def test_a_rewritten_history_is_listed_anew(root):
    old = commit(root, "old words")
    new = commit(root, "new words", "--amend")
    listing = list_commits(root, after=old)
    assert listing.complete
    assert [one.sha for one in listing.commits][1:] == [new]
    assert subjects(root) == ["change", "new words"]


def test_a_shallow_clone_says_so_and_claims_no_files_at_its_end(root, tmp_path):
    first = run_git(root, "rev-parse", "HEAD").strip()
    for name in ("b.md", "c.md"):
        write_files(root, {name: name})
        commit(root, f"Add {name}")
    run_git(tmp_path, "clone", "-q", "--depth=2", root.as_uri(), "clone")
    listing = list_commits(tmp_path / "clone", after=first)
    assert listing.complete
    assert "shallow" in listing.notices[0]
    listed = list(listing.commits)
    assert [(one.subject, one.file_count) for one in listed] == [("Add b.md", 0), ("Add c.md", 1)]
    run_git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    listing = list_commits(tmp_path / "clone", after=first)
    assert not listing.complete
    assert listing.notices == ()
    assert [one.file_count for one in listing.commits] == [1, 1]


def test_a_partial_clone_is_read_without_fetching(root, tmp_path):
    write_files(root, {"b.md": "b\n" * 30})
    commit(root, "Add b")
    run_git(root, "mv", "b.md", "c.md")
    commit(root, "Move b")
    run_git(root, "mv", "c.md", "d.md")
    write_files(root, {"d.md": "b\n" * 30 + "d\n"})
    commit(root, "Move and edit b")
    run_git(root, "config", "uploadpack.allowFilter", "true")
    clone = ("clone", "-q", "--no-checkout", "--filter=blob:none", root.as_uri(), "clone")
    run_git(tmp_path, *clone)
    listed = list(list_commits(tmp_path / "clone").commits)
    assert listed[2].files == (ChangedFile("R", "c.md", "b.md"),)
    assert [file.status for file in listed[3].files] == ["D", "A"]


def test_heads_of_every_kind_are_read(root, tmp_path):
    first = run_git(root, "rev-parse", "HEAD").strip()
    commit(root, "second")
    run_git(root, "worktree", "add", "-q", "--detach", str(tmp_path / "other"), first)
    assert subjects(tmp_path / "other") == ["change"]
    commit(tmp_path / "other", "elsewhere")
    assert subjects(tmp_path / "other") == ["change", "elsewhere"]
    run_git(root, "switch", "-q", "--detach", first)
    assert subjects(root) == ["change"]
    assert subjects(root / ".") == ["change"]


def test_nothing_is_told_where_git_cannot_tell(root, tmp_path, monkeypatch):
    repositories = GitRepositories()
    run_git(tmp_path, "init", "-q", "unborn")
    unborn = repositories.find(tmp_path / "unborn")
    assert repositories.list_commits(unborn, None, None) is None
    for missing in ("c" * 40, "HEAD", "--all"):
        assert repositories.list_commits(Repository(root, missing), None, None) is None
    alone = GitRepositories(NO_GIT)
    found = alone.find(root)
    assert found.commit is not None
    assert alone.list_commits(found, None, None) is None
    (root / ".git" / "config").write_text("[core\n")
    refused = repositories.find(root)
    assert refused.notices
    assert repositories.list_commits(refused, None, None) is None


def test_merges_have_words_and_no_files(root):
    for name in ("one", "two", "three"):
        run_git(root, "switch", "-qc", name, "main")
        write_files(root, {f"{name}.md": name, "a.md": name if name == "three" else "a\n"})
        commit(root, f"Write {name}")
    run_git(root, "switch", "-q", "main")
    commit(root, "Move on")
    run_git(root, "merge", "-q", "--no-edit", "one", "two")
    write_files(root, {"a.md": "main\n"})
    commit(root, "Edit a")
    assert "CONFLICT" in run_git(root, "merge", "three", check=False)
    write_files(root, {"a.md": "both\n"})
    commit(root, "Merge branch 'three'\n\n# Conflicts:\n#\ta.md\n\nKept both, as one needs two.\n")
    run_git(root, "config", "log.diffMerges", "separate")
    records = {record.commit.subject: record for record in read_history(list_commits(root).commits)}
    octopus, settled = records["Merge branches 'one' and 'two'"], records["Merge branch 'three'"]
    assert len(octopus.commit.parents) == 3
    assert octopus.fold == "merge"
    assert "Kept both" in settled.chunks[0].content
    assert settled.commit.files == octopus.commit.files == ()


def test_many_files_are_counted(root):
    write_files(root, {f"many/{number:03}.md": f"{number}\n" for number in range(120)})
    commit(root, "Add many")
    last = list(list_commits(root).commits)[-1]
    assert [file.path for file in last.files] == [f"many/{n:03}.md" for n in range(MOST_FILES)]
    assert last.file_count == 120


@pytest.mark.skipif(sys.platform == "win32", reason="the file system takes no such names")
def test_names_of_any_bytes_are_told_as_the_system_spells_them(root):
    names = ['two\nlines "and" quotes', "tab\tand \\ back", "-M", "é", " ", "A", ":(top)"]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"\xff\xfe latin"))
    write_files(root, dict.fromkeys(names, "x\n"))
    commit(root, "Add names")
    last = list(list_commits(root).commits)[-1]
    assert {file.path for file in last.files} == set(names)
    assert all((root / file.path).is_file() for file in last.files)
    (record,) = read_history([last])
    assert "\n".join(chunk.content for chunk in record.chunks).encode()  # no half characters


@pytest.mark.parametrize(
    "dates",
    [
        "author A <a@b> 292277026596 +0000\ncommitter A <a@b> 292277026596 +0000",
        "author A <a@b> 99999999999999999999999999 +0000\ncommitter A <a@b> -1 +0000",
        "author A <a@b> +0000\ncommitter A <a@b>",
        "author A <a@b> 253402300800 +0000\ncommitter A <a@b> zzz +9999",
        "author\ncommitter",
    ],
)
def test_an_absurd_date_is_no_date(root, dates):
    sha = write_commit(root, dates)
    (listed,) = list_commits(root).commits
    assert listed.sha == sha
    assert listed.subject == "old"
    for instant in (listed.authored_at, listed.committed_at):
        assert instant is None or instant == 0


@pytest.fixture
def dated(root: Path) -> Path:
    run_git(root, "update-ref", "-d", "HEAD")
    for year in (2020, 2022, 2024):
        commit(root, str(year), GIT_COMMITTER_DATE=f"{year}-06-01T12:00:00Z")
        run_git(root, "tag", f"v{year}")
    return root


@pytest.mark.parametrize(
    "since",
    [
        *("v2020", "v2022~1", "HEAD~2", "2021-01-01", "2020-06-01T12:00:01Z", "1 jan 2021"),
        *("2021/01/01", "Jan 1 2021", "1.january.2021", "1609459200"),
    ],
)
def test_since_is_a_revision_or_a_date(dated, since):
    assert subjects(dated, since) == ["2022", "2024"]


def test_since_is_a_date_in_words_of_git(dated):
    assert subjects(dated, "yesterday") == subjects(dated, "2 weeks ago") == []
    assert subjects(dated, "20.years.ago") == ["2020", "2022", "2024"]
    commit(dated, "now")
    assert subjects(dated, "2 weeks ago") == subjects(dated, "2.weeks.ago") == ["now"]


def test_a_revision_goes_before_a_date(dated):
    run_git(dated, "tag", "2024-01-01", "v2022")
    run_git(dated, "branch", "yesterday", "v2022")
    assert subjects(dated, "2024-01-01") == subjects(dated, "yesterday") == ["2024"]


def test_since_and_after_hold_together(dated):
    first = run_git(dated, "rev-parse", "v2020").strip()
    assert subjects(dated, "2023-01-01", first) == ["2024"]
    last = run_git(dated, "rev-parse", "HEAD").strip()
    assert subjects(dated, "2023-01-01", last) == []


@pytest.mark.parametrize(
    "since",
    [
        *("--output={}", "-o{}", "--exec={}", "--all", "^HEAD", "HEAD..HEAD", "v1.2", "soon"),
        *("", " ", "2", "12:00", "a\0b", "\udcff", "the of and", "last --all", "foo bar", "..."),
        "2 weeks ago\n--all",
    ],
)
def test_since_that_is_neither_is_refused(dated, tmp_path, since):
    target = tmp_path / "written"
    with pytest.raises(UsageError, match="neither a revision nor a date") as caught:
        list_commits(dated, since.format(target))
    assert caught.value.hint
    assert not target.exists()


def test_settings_and_refs_of_a_repository_change_nothing(root, tmp_path):
    write_files(root, {"b.md": "b\n", "z.md": "z\n"})
    second = commit(root, "second", "--author=Grace <grace@mempal.test>")
    third = commit(root, "third")
    before = list(list_commits(root).commits)
    write_files(root, {".mailmap": "Nobody <nobody@mempal.test> <grace@mempal.test>\n"})
    settings = {
        **dict.fromkeys(("log.showRoot", "log.follow", "diff.relative", "diff.renames"), "false"),
        **dict.fromkeys(("log.mailmap", "diff.noprefix", "log.showSignature"), "true"),
        **dict.fromkeys(("color.ui", "color.diff"), "always"),
        **dict.fromkeys(("format.notes", "notes.displayRef"), "*"),
        "core.abbrev": "4",
        "core.quotePath": "true",
        "diff.ignoreSubmodules": "all",
        "diff.orderFile": "order",
        "diff.submodule": "log",
        "format.pretty": "raw",
        "i18n.logOutputEncoding": "UTF-16",
        "log.date": "relative",
        "log.decorate": "full",
        "log.diffMerges": "separate",
    }
    for name, value in settings.items():
        run_git(root, "config", name, value)
    write_files(root, {"order": "z.md\nb.md\n"})
    run_git(root, "notes", "add", "-m", "a note", third)
    run_git(root, "replace", second, third)
    write_files(root / ".git" / "info", {"grafts": f"{third}\n"})
    assert list(list_commits(root).commits) == before


def test_no_program_that_a_repository_names_is_run(root, tmp_path):
    mark = tmp_path / "sprung"
    trap = tmp_path / "program"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\nexit 1\n')
    trap.chmod(0o755)
    write_files(root, {".gitattributes": "* diff=trap filter=trap\n", "a.md": "edited\n"})
    commit(root, "Edit a")
    signed = "author A <a@b> 1600000000 +0000\ncommitter A <a@b> 1600000000 +0000\n"
    signed = f"parent {run_git(root, 'rev-parse', 'HEAD').strip()}\n{signed}"
    write_commit(
        root, signed + "gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----"
    )
    names = ("gpg.program", "gpg.openpgp.program", "diff.external", "diff.trap.command")
    names += ("diff.trap.textconv", "core.fsmonitor", "core.pager", "pager.log", "core.sshCommand")
    for name in names:
        run_git(root, "config", name, str(trap))
    run_git(root, "config", "log.showSignature", "true")
    run_git(root, "config", "alias.log", f"!{trap}")
    run_git(root, "log", "-p", "--ext-diff", check=False)
    assert {"-", ".gitattributes"} <= set(mark.read_text().split())  # for gpg and for a diff
    mark.unlink()
    assert len(subjects(root)) == 3
    assert subjects(root, "HEAD~1") == ["old"]
    assert not mark.exists()


def test_submodules_and_types_are_told(root, tmp_path):
    make_repository(tmp_path / "library", {"x": "x\n"})
    run_git(root, "submodule", "add", "-q", str(tmp_path / "library"), "library")
    (root / "a.md").unlink()
    (root / "a.md").symlink_to("library")
    commit(root, "Link a")
    last = list(list_commits(root).commits)[-1]
    assert {(file.status, file.path) for file in last.files} == {
        ("A", ".gitmodules"),
        ("A", "library"),
        ("T", "a.md"),
    }


def test_a_sha256_repository_is_read(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a\n"}, "--object-format=sha256")
    first = run_git(root, "rev-parse", "HEAD").strip()
    commit(root, "second")
    (listed,) = list_commits(root, after=first).commits
    assert (len(listed.sha), listed.parents) == (64, (first,))


def test_commits_come_while_git_goes_on(tmp_path):
    root = import_history(tmp_path / "tree", 3000)
    commits = list_commits(root).commits
    # More than pipes and buffers hold, so git is still at work when it is sent away.
    assert next(commits).subject == "Change 1"
    commits.close()
    assert [one.subject for one in list_commits(root).commits] == [
        f"Change {number}" for number in range(1, 3001)
    ]


def test_a_damaged_history_is_read_as_far_as_it_goes(root):
    for name in ("b.md", "c.md"):
        write_files(root, {f"{name}/x": name})
        commit(root, name)
    tree = run_git(root, "rev-parse", "HEAD:c.md").strip()
    (root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    commits = list_commits(root).commits
    # Whether a commit is whole shows only when the next one begins.
    assert next(commits).subject == "change"
    with pytest.raises(SourceError, match="to its end: unable to read tree") as caught:
        next(commits)
    assert caught.value.hint


def start_instead(folder: Path, script: str) -> dict[str, str]:
    """Return the environment in which a script is run in the place of git."""
    program = write_files(folder, {"git": f"#!/bin/sh\n{script}\n"}) / "git"
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_a_git_that_hangs_is_given_up(root, tmp_path):
    environment = start_instead(tmp_path / "bin", "printf begun; exec sleep 600")
    with pytest.raises(SourceError, match=r"did not answer within 0\.5 s"):
        list(Git(environment, timeout=0.5).stream(root, "log"))


def test_complaints_that_no_pipe_holds_block_nothing(root, tmp_path):
    complain = "head -c 300000 /dev/zero | tr '\\0' w >&2; printf answer"
    environment = start_instead(tmp_path / "loud", complain)
    assert b"".join(Git(environment, timeout=60).stream(root, "log")) == b"answer"
    environment = start_instead(tmp_path / "failing", f"{complain}; exit 3")
    blocks = Git(environment, timeout=60).stream(root, "log")
    assert next(blocks) == b"answer"
    with pytest.raises(SourceError, match=r"w{600}") as caught:
        next(blocks)
    assert len(caught.value.message) == 600


def test_a_git_that_ends_after_its_output_is_waited_for(root, tmp_path):
    work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    for code, ends in ((0, nullcontext()), (3, pytest.raises(SourceError, match="exit code 3"))):
        script = f"printf answer; exec >&-; {work}; exit {code}"
        environment = start_instead(tmp_path / str(code), script)
        with ends:
            list(Git(environment, timeout=60).stream(root, "log"))


def test_a_git_that_cannot_be_started_says_so(root, tmp_path):
    environment = start_instead(tmp_path / "bin", "exit 3")
    with pytest.raises(SourceError, match="exit code 3"):
        list(Git(environment, timeout=60).stream(root, "log"))
    with pytest.raises(SourceError, match="cannot be started"):
        list(Git(environment, timeout=60).stream(root, "a\0b"))
    with pytest.raises(SourceError, match="not installed"):
        list(Git(NO_GIT, timeout=60).stream(root, "log"))


def test_the_commit_is_that_of_the_time_the_repository_was_found(root):
    repositories = GitRepositories()
    found = repositories.find(root)
    commit_all(root)
    listing = repositories.list_commits(found, None, None)
    assert [one.sha for one in listing.commits] == [found.commit]
