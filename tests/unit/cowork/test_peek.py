"""Peeking: what is shown of a transcript, and what of it can go wrong."""

import json
import os
import re

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from mempal.core.errors import UsageError
from mempal.cowork.peek import CannotInferPartnerError, SelfPeekError, find_sessions, peek

PROJECT = "/nowhere/shop"
NOW = 1_776_045_600  # 2026-04-13T02:00:00Z


def claude_line(text, at="2026-04-13T01:00:00.000Z", role="user", cwd=PROJECT, **more):
    record = {"type": role, "cwd": cwd, "timestamp": at, "isSidechain": False}
    return {**record, "message": {"role": role, "content": text}, **more}


def codex_head(cwd=PROJECT, **more):
    payload = {"id": "s", "cwd": cwd, "source": "cli", "instructions": "x" * 100_000, **more}
    return {"timestamp": "2026-04-13T00:59:00Z", "type": "session_meta", "payload": payload}


def codex_line(text, at="2026-04-13T01:00:00.000Z", role="user"):
    blocks = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    payload = {"type": "message", "role": role, "content": blocks}
    return {"timestamp": at, "type": "response_item", "payload": payload}


def encode(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def write(path, *records, mtime=NOW):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = encode(*records)
    path.write_bytes(zstandard.compress(data) if path.suffix == ".zst" else data)
    os.utime(path, (mtime, mtime))
    return path


@pytest.fixture
def projects(tmp_path):
    return tmp_path / ".claude" / "projects"


@pytest.fixture
def rollouts(tmp_path):
    return tmp_path / ".codex" / "sessions"


@pytest.fixture
def look(tmp_path):
    def look(tool, cwd=PROJECT, environment=None, **options):
        options.setdefault("now", NOW)
        return peek(tool, str(cwd), environment=environment or {}, home=tmp_path, **options)

    return look


@pytest.fixture
def find(tmp_path):
    def find(tool, cwd=PROJECT, environment=None):
        return find_sessions(tool, str(cwd), environment or {}, tmp_path)

    return find


def texts(seen):
    return [message.text for message in seen.messages]


def spell(folder):
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


def test_claude_shows_only_what_was_said(projects, look):
    path = write(
        projects / "-nowhere-shop" / "a.jsonl",
        {"type": "summary", "summary": "no"},
        claude_line("no", isMeta=True),
        claude_line("  hello \n"),
        claude_line(
            [
                {"type": "thinking", "thinking": "no"},
                {"type": "text", "text": " one "},
                {"type": "tool_use", "name": "Read", "input": {}},
                {"type": "text", "text": "two"},
            ],
            "2026-04-13T01:00:05.000Z",
            "assistant",
        ),
        claude_line([{"type": "tool_result", "content": "no", "text": "no"}]),
        claude_line("no", isSidechain=True),
        claude_line("   "),
        claude_line({"text": "no"}),
        {**claude_line("no"), "type": "system"},
        {**claude_line("no"), "message": {"role": "system", "content": "no"}},
        {**claude_line("no"), "message": "no"},
        {"type": "user", "message": {"role": "user", "content": "when?"}},
    )
    seen = look("claude-code")
    assert [(one.role, one.at, one.text) for one in seen.messages] == [
        ("user", "2026-04-13T01:00:00.000Z", "hello"),
        ("assistant", "2026-04-13T01:00:05.000Z", " one \ntwo"),
        ("user", "", "when?"),
    ]
    assert (seen.partner_tool, seen.session_path) == ("claude", str(path))
    assert (seen.session_mtime, seen.partner_active) == ("2026-04-13T02:00:00Z", True)
    assert not seen.truncated


def test_codex_shows_only_what_was_said(rollouts, look):
    path = write(
        rollouts / "2026" / "04" / "13" / "rollout-1.jsonl",
        codex_head(),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "no"}},
        codex_line(" hello "),
        codex_line("no", role="developer"),
        {"type": "response_item", "payload": {"type": "reasoning", "summary": []}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
        {"type": "response_item", "payload": {"type": "function_call_output", "output": "no"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "one"}, {"text": "two"}, {}, "no"],
            },
        },
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": " as it is "},
        },
        codex_line(""),
        {"type": "turn_context", "payload": {"cwd": "/elsewhere"}},
    )
    seen = look("codex-tui")
    assert texts(seen) == [" hello ", "one\ntwo", " as it is "]
    assert [one.role for one in seen.messages] == ["user", "assistant", "user"]
    assert (seen.partner_tool, seen.session_path) == ("codex", str(path))


@pytest.mark.parametrize(
    ("limit", "shown", "truncated"),
    [
        (0, [], True),
        (2, ["3", "4"], True),
        (5, list("01234"), False),
        (2**80, list("01234"), False),
    ],
)
def test_the_last_messages_are_shown(projects, look, limit, shown, truncated):
    write(projects / "-nowhere-shop" / "a.jsonl", *(claude_line(str(n)) for n in range(5)))
    seen = look("claude", limit=limit)
    assert (texts(seen), seen.truncated) == (shown, truncated)


def test_nothing_is_not_truncated(projects, look):
    write(projects / "-nowhere-shop" / "a.jsonl", claude_line("", cwd=PROJECT))
    seen = look("claude", limit=0)
    assert (texts(seen), seen.truncated, seen.partner_active) == ([], False, True)


def test_since_compares_instants_in_whole_seconds(rollouts, look):
    write(
        rollouts / "rollout-1.jsonl",
        codex_head(),
        codex_line("before", "2026-04-13T09:59:59.999+08:00"),
        codex_line("then", "2026-04-13T02:00:00.900Z"),
        codex_line("after", "2026-04-12T21:00:01-05:00"),
        codex_line("undated", "yesterday"),
    )
    seen = look("codex", since="2026-04-13T10:00:00+08:00", limit=1)
    assert (texts(seen), seen.truncated) == (["undated"], True)
    assert texts(look("codex", since="2026-04-13T02:00:00Z")) == ["after", "undated"]


def test_a_wrong_since_is_quoted_once_there_is_a_session(projects, look):
    assert look("claude", since="yesterday").session_path is None
    write(projects / "-nowhere-shop" / "a.jsonl", claude_line("hello"))
    with pytest.raises(UsageError, match=r"failed to parse session file.*'yesterday'") as caught:
        look("claude", since="yesterday")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("age", "active"), [(0, True), (1800, True), (1801, False), (-86_400, True)]
)
def test_who_wrote_within_half_an_hour_is_active(projects, look, age, active):
    write(projects / "-nowhere-shop" / "a.jsonl", claude_line("hello"), mtime=NOW - age)
    seen = look("claude")
    assert (seen.partner_active, texts(seen)) == (active, ["hello"])


def test_the_clock_is_asked_when_no_time_is_given(projects, look):
    path = write(projects / "-nowhere-shop" / "a.jsonl", claude_line("hello"), mtime=0)
    assert not look("claude", now=None).partner_active
    os.utime(path)
    assert look("claude", now=None).partner_active


def test_nothing_is_found_where_nothing_is(tmp_path, look, find):
    for tool in ("claude", "codex"):
        seen = look(tool)
        assert (seen.session_path, seen.session_mtime) == (None, None)
        assert (seen.partner_active, seen.messages, seen.truncated) == (False, (), False)
        assert find(tool) == []
    assert list(tmp_path.iterdir()) == []


def test_looking_changes_nothing(tmp_path, projects, rollouts, look):
    write(projects / "-nowhere-shop" / "a.jsonl", claude_line("hello"))
    write(rollouts / "rollout-1.jsonl.zst", codex_head(), codex_line("hello"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for tool in ("claude", "codex"):
        assert texts(look(tool)) == ["hello"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("caller", "partner"), [("claude-code", "codex"), ("codex-mcp-client", "claude")]
)
def test_auto_is_the_partner_of_the_caller(look, caller, partner):
    assert look("AUTO", caller=caller).partner_tool == partner


@pytest.mark.parametrize("caller", [None, "", "some-editor", "auto"])
def test_auto_needs_a_caller_with_a_partner(look, caller):
    with pytest.raises(CannotInferPartnerError, match="cannot infer") as caught:
        look("auto", caller=caller)
    assert caught.value.hint
    assert look("codex", caller=caller).partner_tool == "codex"


def test_nobody_peeks_at_itself(look):
    with pytest.raises(SelfPeekError, match="codex cannot peek at itself") as caught:
        look("codex", caller="codex-mcp-client")
    assert caught.value.hint


@pytest.mark.parametrize("tool", ["bogus", "", " codex", "auto"])
def test_only_tools_have_sessions(find, tool):
    with pytest.raises(UsageError, match=re.escape("claude|codex")):
        find(tool)


# Where Claude Code keeps them.


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/u/my.app_v 2", "-home-u-my-app-v-2"),
        ("/home/u/Größe", "-home-u-Gr--e"),
        ("/home/u/o\u0308", "-home-u--"),
        ("/home/u/🔒", "-home-u---"),
        ("/home/u/my.app", "-home-u-my.app"),
        ("/" + "p" * 250, "-" + "p" * 199 + "-1x2y3z"),
        ("/" + "p" * 199, "-" + "p" * 199),
    ],
)
def test_claude_names_folders_in_its_own_way(projects, find, cwd, name):
    path = write(projects / name / "a.jsonl", {"type": "summary"}, claude_line("hello", cwd=cwd))
    assert find("claude", cwd) == [path]


def test_projects_that_share_a_name_are_told_apart(projects, find):
    folder = projects / "-a-b"
    mine = write(folder / "a.jsonl", claude_line("hello", cwd="/a/b"))
    other = write(folder / "b.jsonl", claude_line("hello", cwd="/a-b"), mtime=NOW + 1)
    below = write(folder / "c.jsonl", claude_line("hello", cwd="/a/b/c"), mtime=NOW - 1)
    unnamed = write(folder / "d.jsonl", {"type": "user"}, mtime=NOW - 2)
    write(folder / "e.jsonl", claude_line("hello", cwd="b"))
    assert find("claude", "/a/b") == [mine, below, unnamed]
    assert find("claude", "/a-b") == [other, unnamed]


def test_a_cut_name_alone_proves_nothing(projects, find):
    write(projects / ("-" + "p" * 199 + "-hash") / "a.jsonl", {"type": "user"})
    write(projects / ("-" + "p" * 199 + "-hash") / "b.jsonl", claude_line("", cwd="/" + "p" * 251))
    assert find("claude", "/" + "p" * 250) == []


def test_subagents_of_claude_are_left_out(projects, find):
    folder = projects / "-nowhere-shop"
    mine = write(folder / "a.jsonl", claude_line("hello"), claude_line("no", isSidechain=True))
    write(folder / "agent-1.jsonl", claude_line("no"), mtime=NOW + 1)
    write(folder / "b.jsonl", claude_line("no", isSidechain=True), mtime=NOW + 1)
    write(folder / "a" / "subagents" / "agent-2.jsonl", claude_line("no"), mtime=NOW + 1)
    write(folder / "notes.txt", claude_line("no"), mtime=NOW + 1)
    assert find("claude") == [mine]


def test_variables_move_what_claude_keeps(tmp_path, projects, find):
    write(projects / "-nowhere-shop" / "a.jsonl", claude_line("hello"))
    moved = tmp_path / "moved" / "projects"
    other = write(moved / "-nowhere-shop" / "a.jsonl", claude_line("hello"))
    named = write(moved / "given" / "a.jsonl", claude_line("hello"), mtime=NOW + 1)
    write(moved / "given" / "b.jsonl", claude_line("hello", cwd="/elsewhere"))
    write(moved / "given" / "c.jsonl", {"type": "user"})
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}
    assert find("claude", environment=environment) == [other]
    environment["CLAUDE_CODE_PROJECT_DIR_NAME"] = "given"
    assert find("claude", environment=environment) == [named, other]
    environment["CLAUDE_CODE_PROJECT_DIR_NAME"] = "../projects/given"
    assert find("claude", environment=environment) == [other]
    del environment["CLAUDE_CONFIG_DIR"]
    assert find("claude", environment=environment)[0].is_relative_to(projects)


# Where Codex keeps them.


def test_codex_sessions_are_found_wherever_they_lie_newest_first(tmp_path, rollouts, find):
    head = codex_head()
    tomorrow = write(rollouts / "2026" / "04" / "14" / "rollout-3.jsonl", head, mtime=NOW - 9)
    resumed = write(rollouts / "2025" / "01" / "01" / "rollout-1.jsonl", head, mtime=NOW)
    archive = tmp_path / ".codex" / "archived_sessions"
    archived = write(archive / "rollout-2.jsonl", head, mtime=NOW - 5)
    packed = write(rollouts / "2026" / "04" / "12" / "rollout-4.jsonl.zst", head, mtime=NOW - 3)
    write(rollouts / "2026" / "04" / "12" / "other-4.jsonl", head)
    write(rollouts / "2026" / "04" / "12" / "rollout-5.jsonl", codex_head("/nowhere/shop-2"))
    write(rollouts / "2026" / "04" / "12" / "rollout-6.jsonl", codex_head("/nowhere/shop/a"))
    write(rollouts / "2026" / "04" / "12" / "rollout-7.jsonl", codex_line("hello"), head)
    assert find("codex") == [resumed, packed, archived, tomorrow]


def test_one_instant_is_ordered_by_name(rollouts, projects, find):
    made = [write(rollouts / f"rollout-{name}.jsonl", codex_head()) for name in "bca"]
    assert find("codex") == sorted(made)
    made = [write(projects / "-nowhere-shop" / f"{n}.jsonl", claude_line("")) for n in "bca"]
    assert find("claude") == sorted(made)


def test_codex_home_moves_them(tmp_path, rollouts, find):
    write(rollouts / "rollout-1.jsonl", codex_head())
    moved = write(tmp_path / "moved" / "sessions" / "rollout-2.jsonl", codex_head())
    assert find("codex", environment={"CODEX_HOME": str(tmp_path / "moved")}) == [moved]


def test_a_plain_rollout_wins_over_its_compressed_copy(rollouts, look, find):
    plain = write(rollouts / "rollout-1.jsonl", codex_head(), codex_line("plain"))
    packed = rollouts / "rollout-1.jsonl.zst"
    write(packed, codex_head(), codex_line("packed"), mtime=NOW + 5)
    assert (find("codex"), texts(look("codex"))) == ([plain], ["plain"])
    plain.unlink()
    assert (find("codex"), texts(look("codex"))) == ([packed], ["packed"])


@pytest.mark.parametrize(
    "more",
    [
        {"source": {"subagent": "review"}},
        {"source": {"subagent": {"thread_spawn": {"depth": 1}}}},
        {"source": "subagent"},
        {"thread_source": "subagent"},
    ],
)
def test_subagents_of_codex_are_left_out(rollouts, find, more):
    write(rollouts / "rollout-2.jsonl", codex_head(**more), mtime=NOW + 1)
    mine = write(rollouts / "rollout-1.jsonl", codex_head(source={"other": 1}))
    assert find("codex") == [mine]


# How the project is spelled.


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "src" / "shop.v1"
    (folder / "lib" / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    (tmp_path / "link").symlink_to(folder)
    return folder


@pytest.mark.parametrize(
    "spelling",
    [
        "src/shop.v1/",
        "src//shop.v1",
        "src/./shop.v1",
        "src/shop.v1/lib/..",
        "link",
        "link/",
        "src/shop.v1/lib",
        "src/shop.v1/lib/deep",
        "link/lib",
    ],
)
def test_every_spelling_of_a_project_finds_it(tmp_path, shop, projects, rollouts, find, spelling):
    said = write(projects / spell(shop) / "a.jsonl", claude_line("hello", cwd=str(shop)))
    rollout = write(rollouts / "rollout-1.jsonl", codex_head(str(shop)))
    asked = f"{tmp_path}/{spelling}"
    assert (find("claude", asked), find("codex", asked)) == ([said], [rollout])


def test_a_transcript_may_spell_it_otherwise_too(tmp_path, shop, projects, rollouts, find):
    link = f"{tmp_path}/link/"
    write(projects / spell(shop) / "a.jsonl", claude_line("hello", cwd=link))
    write(rollouts / "rollout-1.jsonl", codex_head(link))
    for tool in ("claude", "codex"):
        assert len(find(tool, shop)) == 1


def test_a_relative_folder_is_taken_from_here(shop, rollouts, find, monkeypatch):
    write(rollouts / "rollout-1.jsonl", codex_head(str(shop)))
    monkeypatch.chdir(shop)
    assert len(find("codex", ".")) == len(find("codex", "lib")) == 1


def test_the_folder_itself_comes_before_its_repository(shop, projects, rollouts, look):
    for folder, age in ((shop, 0), (shop / "lib", 60)):
        cwd, mtime = str(folder), NOW - age
        write(projects / spell(folder) / "a.jsonl", claude_line(cwd, cwd=cwd), mtime=mtime)
        write(rollouts / f"rollout-{age}.jsonl", codex_head(cwd), codex_line(cwd), mtime=mtime)
    for tool in ("claude", "codex"):
        for folder in (shop, shop / "lib"):
            assert texts(look(tool, folder)) == [str(folder)]
        assert texts(look(tool, shop / "lib" / "deep")) == [str(shop)]


@pytest.mark.parametrize("cwd", ["", "\0", "/a\0b", "/\udcff", "/a\ud800", "/" + "x/" * 5000])
def test_no_folder_is_too_strange_to_ask_for(find, cwd):
    for tool in ("claude", "codex"):
        assert find(tool, cwd) == []


# What may lie in place of a transcript.


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n",
        b"{}\xc3\n",
        b"\n\r\n",
        b"[" * 100_000 + b"\n",
        b'{"a":' * 100_000 + b"\n",
        b"1" * 10_000 + b"\n",
        b'"text"\nnull\n[]\n',
        b'{"type":"user","message":{"role":"user","content":"' + b"x" * (17 << 20) + b'"}}\n',
        b'{"type":[],"message":{"role":{},"content":1}}\n',
    ],
    ids=["bytes", "cut", "blank", "deep", "deeper", "number", "values", "huge", "kinds"],
)
def test_bad_lines_are_left_out(projects, rollouts, look, line):
    for path, lines in (
        (projects / "-nowhere-shop" / "a.jsonl", [claude_line("one"), claude_line("two")]),
        (rollouts / "rollout-1.jsonl", [codex_head(), codex_line("one"), codex_line("two")]),
    ):
        write(path)
        *first, last = lines
        torn = encode(codex_line("torn"))[:-9]
        path.write_bytes(encode(*first) + line + encode(last) + torn)
    for tool in ("claude", "codex"):
        assert texts(look(tool)) == ["one", "two"]


def test_only_newlines_end_a_line(projects, look):
    path = write(projects / "-nowhere-shop" / "a.jsonl")
    text = "a\u2028b\u2029c\u0085d"
    line = json.dumps(claude_line(text), ensure_ascii=False).encode()
    path.write_bytes(line + b"\r\n" + line)
    assert texts(look("claude")) == [text, text]


def test_half_characters_are_mended(projects, look):
    path = write(projects / "-nowhere-shop" / "a.jsonl")
    path.write_bytes(encode(claude_line("a\ud800b", at="\udfff"), claude_line("🔒")))
    seen = look("claude")
    assert [one.at for one in seen.messages] == ["\ufffd", "2026-04-13T01:00:00.000Z"]
    assert texts(seen) == ["a\ufffdb", "🔒"]


def test_pipes_links_and_folders_are_no_transcripts(tmp_path, projects, rollouts, find):
    for folder, name, records in (
        (projects / "-nowhere-shop", "a{}.jsonl", [claude_line("hello")]),
        (rollouts / "2026", "rollout-{}.jsonl", [codex_head()]),
    ):
        real = write(folder / name.format(1), *records)
        outside = write(tmp_path / "outside" / real.name, *records, mtime=NOW + 1)
        (folder / name.format(2)).symlink_to(outside)
        os.mkfifo(folder / name.format(3))
        (folder / name.format(4)).mkdir()
        (folder / name.format(5)).symlink_to(folder)
        (folder / "round").symlink_to(folder)
        (folder / name.format(6)).write_bytes(b"")
        (folder / "a\udcff").mkdir()
    assert [path.name for path in find("claude")] == ["a1.jsonl", "a6.jsonl"][::-1]
    assert [path.name for path in find("codex")] == ["rollout-1.jsonl"]


def test_a_pipe_beside_the_copy_does_not_hide_it(rollouts, find):
    packed = write(rollouts / "rollout-1.jsonl.zst", codex_head())
    os.mkfifo(rollouts / "rollout-1.jsonl")
    assert find("codex") == [packed]


def test_folders_that_cannot_be_read_hold_nothing(tmp_path, find):
    for name in (".claude", ".codex"):
        (tmp_path / name).mkdir()
    (tmp_path / ".claude" / "projects").write_text("no folder")
    (tmp_path / ".codex" / "sessions").symlink_to("sessions")
    archived = write(tmp_path / ".codex" / "archived_sessions" / "rollout-1.jsonl", codex_head())
    assert (find("claude"), find("codex")) == ([], [archived])
    deep = "/".join(["d"] * 1500)
    assert find("codex", environment={"CODEX_HOME": f"/{deep}"}) == []
    assert find("codex", environment={"CODEX_HOME": "/\0"}) == []


def test_damaged_compression_ends_where_it_does(rollouts, look):
    path = write(rollouts / "rollout-1.jsonl.zst", codex_head(), codex_line("first"))
    whole = path.read_bytes()
    path.write_bytes(whole + zstandard.compress(encode(codex_line("second"))) + b"\xff" * 40)
    assert texts(look("codex")) == ["first", "second"]
    path.write_bytes(whole[:20])
    assert texts(look("codex")) == []
    path.write_bytes(b"no frame at all")
    assert look("codex").session_path is None


def test_what_is_packed_to_fill_a_memory_is_not_read_to_its_end(rollouts, look):
    path = write(rollouts / "rollout-1.jsonl.zst")
    head = encode(codex_head(), codex_line("first"))
    path.write_bytes(zstandard.compress(head + b"\n" * (32 << 20) + encode(codex_line("last"))))
    assert path.stat().st_size < 20_000
    assert texts(look("codex")) == ["first"]


@settings(max_examples=60)
@given(
    data=st.binary(max_size=400),
    at=st.integers(0, 3),
    tool=st.sampled_from(["claude", "codex"]),
    packed=st.booleans(),
)
def test_no_bytes_raise(tmp_path_factory, data, at, tool, packed):
    home = tmp_path_factory.mktemp("home")
    lines = [codex_head(instructions=""), codex_line("one"), claude_line("two")]
    parts = [encode(line) for line in lines]
    parts.insert(at, data)
    if tool == "claude":
        path = home / ".claude" / "projects" / "-nowhere-shop" / "a.jsonl"
    else:
        path = home / ".codex" / "sessions" / f"rollout-1.jsonl{'.zst' if packed else ''}"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(parts))
    seen = peek(tool, PROJECT, environment={}, home=home, since="1999-01-01T00:00:00Z")
    assert len(seen.messages) <= 30
    for message in seen.messages:
        message.text.encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "message", "payload", "text", "cwd"]),
            inner | st.sampled_from(["user", "message", "response_item", "text", PROJECT]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(records=st.lists(json_values, max_size=4))
def test_no_record_raises(tmp_path_factory, records):
    home = tmp_path_factory.mktemp("home")
    write(home / ".claude" / "projects" / "-nowhere-shop" / "a.jsonl", *records, claude_line("x"))
    write(home / ".codex" / "sessions" / "rollout-1.jsonl", *records)
    write(home / ".codex" / "sessions" / "rollout-2.jsonl", codex_head(), *records)
    for tool in ("claude", "codex"):
        for path in find_sessions(tool, PROJECT, {}, home):
            assert path.is_file()
        peek(tool, PROJECT, environment={}, home=home)
