"""Which lines define names, family by family, and how the names reach the pieces."""

import pytest

from mempal.ingest.cut import cut_text
from mempal.ingest.languages import FAMILIES, HEAD, compile_definitions, find_family
from mempal.ingest.symbols import Outline, find_symbols

DEFINITIONS = [
    ("a.py", "def load(path):", "load"),
    ("a.py", "async def fetch(", "fetch"),
    ("a.py", "class Store(Base):", "Store"),
    ("a.py", "class Box[T]:", "Box"),
    ("a.pyx", "cdef class Fast:", "Fast"),
    ("a.js", "function boot() {", "boot"),
    ("a.js", "export default async function* stream(a, b) {", "stream"),
    ("a.ts", "export abstract class Repo<T> {", "Repo"),
    ("a.ts", "interface Options {", "Options"),
    ("a.ts", "export type Id = string", "Id"),
    ("a.ts", "export const enum Color {", "Color"),
    ("a.ts", "export const load = async (path: string): Promise<void> => {", "load"),
    ("a.tsx", "const Panel = ({", "Panel"),
    ("a.js", "const twice = x => x * 2", "twice"),
    ("a.js", "exports.run = function (a) {", "run"),
    ("a.ts", "private async readAll(path: string): Promise<Row[]> {", "readAll"),
    ("a.js", "constructor(a, b) {\r", "constructor"),
    ("a.js", 'it("keeps the order", () => {', "keeps the order"),
    ("a.go", "func Open(path string) (*DB, error) {", "Open"),
    ("a.go", "func (db *DB) Close() error {", "DB Close"),
    ("a.go", "type Reader interface {", "Reader"),
    ("a.rs", "pub(crate) async unsafe fn poll(&self) {", "poll"),
    ("a.rs", 'pub extern "C" fn entry() {', "entry"),
    ("a.rs", "pub struct Row {", "Row"),
    ("a.rs", "impl<T: Into<String>> From<T> for Name {", "From Name"),
    ("a.rs", "impl Name {", "Name"),
    ("a.rs", "macro_rules! row {", "row"),
    ("A.java", "public final class Store extends Base {", "Store"),
    ("A.java", "public <T> List<Map<String, T>> readAll(Path path) {", "readAll"),
    ("A.java", "void close()", "close"),
    ("A.cs", "internal sealed record Point(int X, int Y)", "Point"),
    ("A.cs", "public async Task<string?> Load(string path)", "Load"),
    ("a.kt", "enum class Mode {", "Mode"),
    ("a.kt", "private suspend fun <T> List<T>.second(): T {", "second"),
    ("a.kt", "data class Point(val x: Int)", "Point"),
    ("a.swift", "public protocol Shape {", "Shape"),
    ("a.swift", "mutating func grow(by size: Int) {", "grow"),
    ("a.scala", "case class Point(x: Int)", "Point"),
    ("a.scala", "override def toString: String =", "toString"),
    ("a.c", "static int *find_row(struct table *t, int n)", "find_row"),
    ("a.c", "static struct row *\nfind_row(int n)\n{", "find_row"),
    ("a.c", "struct row {", "row"),
    ("a.c", "#define MIN(a, b) ((a) < (b) ? (a) : (b))", "MIN"),
    ("a.cpp", "std::vector<int> Store::rows(int n) const {", "Store::rows"),
    ("a.cpp", "Store::Store(int n) : size(n) {", "Store::Store"),
    ("a.hpp", "enum class Mode : int {", "Mode"),
    ("a.rb", "def self.open(path)", "open"),
    ("a.rb", "class Store < Base", "Store"),
    ("Rakefile", "def clean?", "clean?"),
    ("a.php", "public static function make(array $a): self", "make"),
    ("a.php", "final class Store implements Countable", "Store"),
    ("a.sh", "build_all() {", "build_all"),
    ("a.bash", "function deploy {", "deploy"),
    ("a.ps1", "function Get-Row {", "Get-Row"),
    ("a.sql", "CREATE TABLE IF NOT EXISTS drawers (", "drawers"),
    ("a.sql", 'create or replace function "app"."total"(', 'app"."total'),
    ("a.sql", "CREATE UNIQUE INDEX by_name ON t (name);", "by_name"),
    ("a.lua", "local function step(n)", "step"),
    ("a.lua", "M.open = function(path)", "M.open"),
    ("a.pl", "sub parse {", "parse"),
    ("a.R", "read_all <- function(path) {", "read_all"),
    ("a.ex", "defmodule Shop.Cart do", "Shop.Cart"),
    ("a.hs", "total :: [Int] -> Int", "total"),
    ("a.clj", "(defn total [rows]", "total"),
    ("Makefile", "build: src/a.c src/b.c", "build"),
    ("Makefile", "docs::", "docs"),
    ("CMakeLists.txt", "add_library(core a.c)", "core"),
    ("Dockerfile", "FROM python:3.12 AS base", "base"),
    ("a.tf", 'resource "aws_instance" "web" {', "aws_instance web"),
    ("a.proto", "message Row {", "Row"),
    ("a.toml", "[tool.ruff.lint]", "tool.ruff.lint"),
    ("a.toml", "[[package]]", "package"),
    ("setup.cfg", "[metadata]", "metadata"),
    ("a.yaml", "services:", "services"),
    ("a.css", ".card > a:hover {", ".card > a:hover"),
    ("a.html", '<h2 class="x">Set up</h2>', "Set up"),
    ("a.md", "## Set up ##", "Set up"),
    ("a.md", "# C#", "C#"),
    ("a.adoc", "== Set up", "Set up"),
    ("a.org", "** Set up", "Set up"),
    ("NOTES", "# Set up", "Set up"),
    ("a.unknown", "# Set up", "Set up"),
]

NO_DEFINITIONS = [
    ("a.py", "classify(rows)"),
    ("a.py", "class of its own"),
    ("a.py", "LIMIT = 3"),
    ("a.js", "if (ready) {"),
    ("a.js", "} else if (ready) {"),
    ("a.js", "const total = rows.length"),
    ("a.js", "load(path, function () {"),
    ("a.js", "return load(path) {"),
    ("A.java", "return compute(a, b) {"),
    ("A.java", "throw new IllegalStateException("),
    ("A.java", "int total = compute(a,"),
    ("A.java", "row.close();"),
    ("a.c", "int find_row(struct table *t);"),
    ("a.c", "else if (find(row)) {"),
    ("a.c", "while (next(row)) {"),
    ("a.c", "return find(row) {"),
    ("a.c", "    printf(format,"),
    ("a.c", 'asm volatile ("nop"'),
    ("a.go", "function := open()"),
    ("a.rb", "default = open"),
    ("a.sql", "SELECT * FROM created"),
    ("Makefile", "NAME := value"),
    ("Makefile", ".PHONY: build"),
    ("Makefile", "\techo done: ok"),
    ("a.toml", "key = [1, 2]"),
    ("a.yaml", "name: value"),
    ("a.md", "#hashtag"),
    ("a.md", "text\n\n    # a comment in code"),
    ("a.sql", "-- none\n    create table t ("),
    ("a.md", "####### seven"),
    ("a.unknown", "def load(path):"),
    ("a.json", '"def": ['),
    ("a.csv", "# a,b"),
]


def find_names(path: str, line: str) -> str:
    (piece,) = cut_text(line, path)
    return piece.symbols


@pytest.mark.parametrize(("path", "line", "name"), DEFINITIONS)
def test_a_line_defines_a_name(path, line, name):
    assert find_names(path, line) == name


@pytest.mark.parametrize(("path", "line"), NO_DEFINITIONS)
def test_a_line_defines_nothing(path, line):
    assert find_names(path, line) == ""


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("src/app/main.PY", "python"),
        ("a\\b\\c.rs", "rust"),
        ("Dockerfile.dev", "docker"),
        ("deploy/Makefile", "make"),
        ("requirements.txt", "sections"),
        ("notes.txt", "prose"),
        (".env", "sections"),
        ("types.d.ts", "javascript"),
        ("python", "prose"),
        ("folder.py/readme", "prose"),
        ("", "prose"),
    ],
)
def test_the_name_tells_the_family(path, family):
    assert find_family(path).name == family


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("#!/usr/bin/env python3\n", "python"),
        ("#!/bin/sh -e\n", "shell"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/opt/other\nsh", "prose"),
        ("no #!/bin/sh", "prose"),
    ],
)
def test_the_first_line_tells_the_family_of_a_script(line, family):
    assert find_family("bin/run", line).name == family


def test_no_two_families_claim_a_file():
    files = [file for family in FAMILIES for file in family.files.split()]

    assert len(files) == len(set(files))
    assert all(file == file.lower() for file in files)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize(
    "unit",
    [
        "a ",
        "a(",
        "(",
        "<",
        "<a> ",
        "public ",
        "impl<",
        "a::",
        "const a: ",
        "export ",
        '"',
        "[",
        "#",
    ],
)
def test_hostile_lines_end_quickly(family, unit):
    # A pattern that backtracks without bound would not come back from these.
    for prefix in ("", "impl", "const a = ", "func (", "class ", "create table ", "static int "):
        line = (prefix + unit * HEAD)[:HEAD]
        cut_text(line, family.files.split()[0])
        for pattern in compile_definitions(family):
            pattern.match(line)


def test_names_around_a_span_come_first():
    outline = Outline(100)
    outline.open(0, 0, "Store")
    outline.open(10, 4, "load")
    outline.open(40, 4, "save")
    outline.close(60, 0)
    outline.open(70, 0, "main")

    spans = [(0, 5), (5, 20), (20, 45), (45, 60), (60, 70), (70, 100)]
    assert list(find_symbols(outline.definitions, spans)) == [
        "Store",
        "Store load",
        "Store load save",
        "Store save",
        "",
        "main",
    ]


def test_a_name_is_told_once():
    outline = Outline(30)
    for start in (0, 10, 20):
        outline.open(start, 0, "load")

    assert list(find_symbols(outline.definitions, [(0, 30)])) == ["load"]


def test_only_the_innermost_of_many_levels_are_told():
    outline = Outline(100)
    for depth in range(50):
        outline.open(depth, depth, f"level{depth}")

    *_, names = find_symbols(outline.definitions, [(0, 50), (50, 100)])
    assert names.split()[-1] == "level49"
    assert len(names.split()) == 12


def test_long_names_are_shortened():
    assert len(find_names("a.md", "# " + "word " * 50)) <= 100


METHODS = '''
class Store:
    """Keeps rows."""

    @property
    def size(self):
        return 1

    def load(self):
{body}

    def save(self):
        pass


LIMIT = 1
'''


def test_a_piece_of_a_method_names_class_and_method():
    text = METHODS.format(body="\n".join(f"        step({n}, 'of many')" for n in range(80)))
    pieces = cut_text(text, "a.py")

    inner = [p for p in pieces if text[p.start : p.end].lstrip().startswith("step(")]
    assert inner
    assert all(piece.symbols.startswith("Store load") for piece in inner)


def test_what_follows_a_definition_is_not_part_of_it():
    text = "def first():\n    pass\n\n\n" + "\n".join(f"row_{n} = {n}" for n in range(120)) + "\n"
    pieces = cut_text(text, "a.py")

    assert pieces[0].symbols == "first"
    assert [piece.symbols for piece in pieces[1:]] == [""] * (len(pieces) - 1)


@pytest.mark.parametrize("above", ["# why\n@cache\n", "# why\n"])
def test_what_stands_above_a_definition_is_not_part_of_the_one_before(above):
    body = "\n".join(f"    step({n}, 'of many')" for n in range(25))
    text = f"def first():\n{body}\n\n\n{above}def second():\n{body}\n"

    assert [piece.symbols for piece in cut_text(text, "a.py")] == ["first", "second"]


def test_a_closing_line_does_not_end_a_definition():
    body = "\n".join(f"    step({n})" for n in range(120))
    text = f"def load(\n    path,\n):\n{body}\n"

    assert {piece.symbols for piece in cut_text(text, "a.py")} == {"load"}


def test_a_brace_on_its_own_line_does_not_end_a_definition():
    body = "\n".join(f"    step({n});" for n in range(120))
    text = f"static void load(int n)\n{{\n{body}\n}}\n"

    assert {piece.symbols for piece in cut_text(text, "a.c")} == {"load"}


def test_examples_in_block_comments_define_nothing():
    assert find_names("a.js", "/*\nfunction old() {\n*/\nfunction new_one() {}\n") == "new_one"


def test_headings_nest_by_level():
    filler = "\n\n".join(f"Paragraph {n} of a long section, with some words." for n in range(30))
    text = f"# Guide\n\n## Install\n\n{filler}\n\n## Use\n\n{filler}\n"
    trails = [piece.symbols for piece in cut_text(text, "a.md")]

    assert trails[0] == "Guide Install"
    assert trails[-1] == "Guide Use"
    assert "Guide Install Use" not in trails[1:-1] or trails.count("Guide Install Use") == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Guide\n=====\n\ntext\n\nInstall\n-------\n\ntext\n", "Guide Install"),
        ("=====\nGuide\n=====\n\ntext\n", "Guide"),
        ("Guide\r\n=====\r\n\r\ntext\r\n", "Guide"),
        ("Too long for its line\n~~~\n\ntext\n", ""),
        ("First line\nof a paragraph\n~~~~~~~~~~~~~~~\n", ""),
        ("text\n\n-----\n\ntext\n", ""),
    ],
)
def test_underlined_headings(text, names):
    assert find_names("a.rst", text) == names


def test_underlines_nest_in_order_of_appearance():
    filler = "\n\n".join(f"Paragraph {n} of a long section, with some words." for n in range(30))
    text = f"Guide\n-----\n\nInstall\n=======\n\n{filler}\n"

    assert cut_text(text, "a.rst")[-1].symbols == "Guide Install"


def test_nothing_in_a_fence_is_a_heading():
    text = "# Guide\n\n```sh\n# build it\nmake\n```\n\n~~~\n# more\n```\n# more\n~~~\n\n# End\n"
    text += "```\n# more\n```\n"

    assert find_names("a.md", text) == "Guide End"


def test_inline_code_at_the_beginning_of_a_line_opens_no_fence():
    assert find_names("a.md", "```code``` is inline\n\n# Guide\n") == "Guide"
