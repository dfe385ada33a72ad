r"""What definitions and comments look like: one table of language families.

A pattern is matched against the first :data:`HEAD` characters of one line without its indentation,
never across lines, and repeats no part that could match the same text in two ways; so a line costs
bounded time whatever it holds. The groups of a pattern are the names it defines.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache

# Characters of a line that are looked at.
HEAD = 300


class Nesting(Enum):
    """How far a definition reaches.

    INDENT: to the next line that is indented no deeper.
    FLAT: definitions stand at the margin and reach to the next one.
    LEVEL: headings; to the next heading of the same or a higher level.
    """

    INDENT = "indent"
    FLAT = "flat"
    LEVEL = "level"


@dataclass(frozen=True, slots=True)
class Family:
    """What lines look like in a family of languages.

    Attributes:
        files: Extensions with their dot, and whole lower-case file names.
        definitions: Patterns of lines that define a name; for LEVEL their groups are the mark,
            whose length is the level, and the title.
        margin: Further ones that count only in lines without indentation.
        comments: Beginnings of comment lines.
        block: Beginning and end of comments that may run over lines.
        attached: Pattern of lines that belong to the definition below them.
        underlines: Marks of which a line makes a heading of the line above it; those that are not
            among them may fence code.
    """

    name: str
    files: str
    definitions: tuple[str, ...] = ()
    margin: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    block: tuple[str, str] | None = None
    attached: str = ""
    nesting: Nesting = Nesting.INDENT
    underlines: str = ""


_C_COMMENTS = ("//", "/*")
_C_BLOCK = ("/*", "*/")
_NO_STATEMENT = (
    r"(?!(?:return|else|if|for|while|switch|case|throw|new|delete|goto|using|typedef|await|yield"
    r"|assert|co_return|co_await|import|package|do|catch|asm|__asm__)\b)"
)
# A type, then a name and its parameters, as in C, Java and C#. The characters of a type hold no
# parenthesis, so only the name before the first one is tried.
_TYPED_FUNCTION = (
    _NO_STATEMENT + r"[A-Za-z_][\w:<>,.?*&~\[\] \t]{0,200}[ \t*&>]([A-Za-z_~][\w:~]{0,99})[ \t]*"
    r"\([^;{]*(?:\{|$)"
)
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|override|virtual"
    r"|partial|readonly|data|inner|value|annotation|inline|suspend|operator|infix|tailrec|external"
    r"|fileprivate|indirect|mutating|class|convenience|required|implicit|lazy|case|default|export"
    r"|declare|async|unsafe|strictfp|non-sealed|expect|actual|const|ref|new|file)[ \t]+)*"
)
_EXPORTED = r"(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?"
_VISIBLE = r"(?:pub(?:\([^)\n]{0,60}\))?[ \t]+)?"
# A name and its parameters on one line that ends with a brace, as methods of JavaScript have.
_METHOD = (
    r"(?!(?:if|for|while|switch|catch|return|function|with|else|do|new|await|throw|typeof)\b)"
    r"(?:(?:public|private|protected|static|async|get|set|override|abstract|readonly)[ \t]+)*"
    r"[*#]?([\w$]+)[ \t]*(?:<[^<>(){}\n]{0,80}>)?\([^;{}()\"'`\n]{0,200}\)[ \t]*"
    r"(?::[^;={}\n]{1,100})?\{$"
)
_IMPLEMENTATION = (
    r"(?:unsafe[ \t]+)?impl\b(?:<[^{}\n]{0,150}?>)?[ \t]+"
    r"(?:!?([\w:]+)(?:<[^{}\n]{0,150}?>)?[ \t]+for[ \t]+)?&?(?!for\b)([\w:]+)"
)
_C_TYPE = (
    r"(?:typedef[ \t]+)?(?:struct|class|enum(?:[ \t]+(?:class|struct))?|union|namespace"
    r"|@interface|@implementation|@protocol)[ \t]+([A-Za-z_][\w:]*)[^;()=]*$"
)
_SQL_CREATE = (
    r"(?i:create)[ \t]+(?i:(?:or[ \t]+replace|temp|temporary|unique|materialized|virtual"
    r"|recursive|global|local|unlogged)[ \t]+)*(?i:table|view|index|function|procedure"
    r"|trigger|type|schema|database|sequence|domain|role|policy|extension)[ \t]+"
    r"(?i:(?:if[ \t]+not[ \t]+exists|concurrently)[ \t]+)*([\w.\"`\[\]]+)"
)
_SCHEMA = (
    r"(?:message|service|enum|rpc|type|interface|input|union|scalar|query|mutation|fragment"
    r"|struct|exception|model)[ \t]+(\w+)"
)
_TERRAFORM = (
    r'(?:resource|data|module|variable|output|provider)[ \t]+"([^"\n]+)"'
    r'(?:[ \t]+"([^"\n]+)")?'
)
_QUOTED_CASE = (
    r"(?:describe|context|it|test|specify|feature|scenario)(?:\.\w+)?[ \t]*\(?[ \t]*"
    r"""["'`]([^"'`\n]{1,100})["'`]"""
)

# Prose comes first: what no other row claims is read as prose.
FAMILIES = (
    Family(
        "prose",
        ".md .markdown .mdx .mdown .txt .text",
        (r"(#{1,6})[ \t]+(\S.*)", r"(={1,6})[ \t]+(\S.*)"),
        nesting=Nesting.LEVEL,
        underlines="=-",
    ),
    Family("rst", ".rst .rest", nesting=Nesting.LEVEL, underlines="=-~^\"'`*+#<>_:."),
    Family(
        "asciidoc",
        ".adoc .asciidoc .asc .wiki",
        (r"(#{1,6}|={1,6})[ \t]+(\S.*)",),
        nesting=Nesting.LEVEL,
    ),
    Family("org", ".org", (r"(\*+)[ \t]+(\S.*)",), nesting=Nesting.LEVEL),
    Family(
        "python",
        ".py .pyi .pyw .pyx .pxd .bzl .star sconstruct",
        (
            r"(?:async[ \t]+)?(?:c?p?def)[ \t]+(\w+)[ \t]*[(\[]",
            r"(?:cdef[ \t]+)?class[ \t]+(\w+)[ \t]*[(:\[]",
        ),
        comments=("#",),
        attached="@",
    ),
    Family(
        "javascript",
        ".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .astro",
        (
            _EXPORTED + r"(?:async[ \t]+)?function\b[ \t]*\*?[ \t]*([\w$]+)",
            _EXPORTED + r"(?:abstract[ \t]+)?(?:class|interface|(?:const[ \t]+)?enum|namespace"
            r"|module)[ \t]+([\w$.]+)",
            _EXPORTED + r"type[ \t]+([\w$]+)[ \t]*[=<]",
            # const name = followed by a function, or by parameters that run over lines.
            _EXPORTED + r"(?:const|let|var)[ \t]+([\w$]+)[ \t]*(?::[^=\n]{1,100})?=[ \t]*"
            r"(?:async\b[ \t]*)?(?:function\b|class\b|[\w$]+[ \t]*=>"
            r"|\([^()\n]{0,200}(?:\)[^=\n]{0,80}=>|$))",
            r"(?:module\.)?exports\.([\w$]+)[ \t]*=[ \t]*(?:async\b[ \t]*)?(?:function\b|\()",
            _QUOTED_CASE,
            _METHOD,
        ),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
        attached="@",
    ),
    Family(
        "go",
        ".go",
        (
            r"func[ \t]+(?:\([ \t]*(?:\w+[ \t]+)?\*?(\w+)[^)\n]{0,80}\)[ \t]*)?(\w+)",
            r"type[ \t]+(\w+)",
        ),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
    ),
    Family(
        "rust",
        ".rs",
        (
            _VISIBLE + r"(?:(?:default|const|async|unsafe)[ \t]+)*"
            r"""(?:extern(?:[ \t]+"[^"\n]{0,30}")?[ \t]+)?fn[ \t]+(\w+)""",
            _VISIBLE + r"(?:unsafe[ \t]+)?(?:struct|enum|union|trait|mod|type)[ \t]+(\w+)",
            _IMPLEMENTATION,
            r"macro_rules![ \t]*(\w+)",
        ),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
        attached=r"#!?\[",
    ),
    Family(
        "java",
        ".java .cs .groovy .gradle .dart .jsp",
        (
            _MODIFIERS + r"(?:class|interface|enum|record(?:[ \t]+struct)?|@interface|struct|mixin"
            r"|extension|namespace)[ \t]+([\w.]+)",
            _TYPED_FUNCTION,
        ),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
        attached=r"[@\[]",
    ),
    Family(
        "kotlin",
        ".kt .kts .swift .scala .sc .sbt",
        (
            _MODIFIERS + r"(?:(?:enum[ \t]+|companion[ \t]+)?(?:class|object)|interface|enum|struct"
            r"|protocol|extension|actor|trait|typealias|given)[ \t]+([\w.]+)",
            _MODIFIERS + r"(?:fun|func|def)[ \t]+(?:<[^>\n]{0,100}>[ \t]*)?(?:[\w<>?]+\.)?(\w+)",
        ),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
        attached="@",
    ),
    Family(
        "c",
        ".c .h .cc .cpp .cxx .c++ .hh .hpp .hxx .ipp .inl .m .mm .cu .cuh .ino .glsl .hlsl",
        (
            _C_TYPE,
            r"#[ \t]*define[ \t]+(\w+)\(",
            r"(?!(?:std|boost)::)([A-Za-z_]\w{0,99}(?:::~?\w{1,99}){1,9})[ \t]*\([^;{]*(?:\{|$)",
            _TYPED_FUNCTION,
        ),
        # The type may stand on a line of its own above the name.
        margin=(_NO_STATEMENT + r"([A-Za-z_]\w{0,99})[ \t]*\([^;{]*(?:\{|$)",),
        comments=("//", "/*", "#"),
        block=_C_BLOCK,
        attached=r"template\b|\[\[|[A-Za-z_][\w:<>,*& \t]*$",
    ),
    Family(
        "ruby",
        ".rb .rake .gemspec .ru rakefile gemfile vagrantfile",
        (
            r"def[ \t]+(?:self\.)?([\w?!=]+)",
            r"(?:class|module)[ \t]+([A-Z][\w:]*)",
            _QUOTED_CASE,
        ),
        comments=("#",),
    ),
    Family(
        "php",
        ".php .phtml",
        (
            _MODIFIERS + r"function[ \t]+&?(\w+)",
            _MODIFIERS + r"(?:class|interface|trait|enum|namespace)[ \t]+([\w\\]+)",
        ),
        comments=("//", "/*", "#"),
        block=_C_BLOCK,
        attached=r"#\[",
    ),
    Family(
        "shell",
        ".sh .bash .zsh .ksh .bats .fish .command .envrc .bashrc .zshrc .profile",
        (
            r"function[ \t]+([\w:.-]+)",
            r"([\w:.-]+)[ \t]*\([ \t]*\)",
            r"""@test[ \t]+["']([^"'\n]+)""",
        ),
        comments=("#",),
    ),
    Family(
        "powershell",
        ".ps1 .psm1",
        (r"(?:function|filter|class)[ \t]+([\w:-]+)",),
        comments=("#",),
        block=("<#", "#>"),
        attached=r"\[",
    ),
    Family(
        "sql",
        ".sql .ddl .pgsql .psql",
        (_SQL_CREATE,),
        comments=("--", "/*"),
        block=_C_BLOCK,
        nesting=Nesting.FLAT,
    ),
    Family(
        "lua",
        ".lua",
        (
            r"(?:local[ \t]+)?function[ \t]+([\w.:]+)",
            r"(?:local[ \t]+)?([\w.]+)[ \t]*=[ \t]*function\b",
        ),
        comments=("--",),
        block=("--[[", "]]"),
    ),
    Family(
        "perl",
        ".pl .pm .t",
        (r"sub[ \t]+(\w+)", r"package[ \t]+([\w:]+)"),
        comments=("#",),
    ),
    Family(
        "r",
        ".r .jl .nim .zig .v .odin",
        (
            r"([\w.]+)[ \t]*(?:<-|=)[ \t]*function\b",
            r"(?:pub[ \t]+)?(?:function|macro|fn|proc|struct|module)[ \t]+(\w+)",
        ),
        comments=("#", "//"),
    ),
    Family(
        "elixir",
        ".ex .exs",
        (r"def(?:p|module|macro|protocol|impl|struct)?[ \t]+([\w.?!]+)",),
        comments=("#",),
        attached="@",
    ),
    Family(
        "haskell",
        ".hs .elm .ml .mli .fs .fsx .purs",
        (
            r"(?:data|newtype|class|type|module|instance)[ \t]+(?:rec[ \t]+)?([A-Za-z][\w.']*)",
            r"let[ \t]+(?:rec[ \t]+|inline[ \t]+)?([a-z_][\w']*)",
            r"([a-z_][\w']*)[ \t]*::",
        ),
        comments=("--", "(*", "//"),
        block=("(*", "*)"),
        nesting=Nesting.FLAT,
    ),
    Family(
        "lisp",
        ".lisp .el .clj .cljs .cljc .edn .scm .rkt",
        (r"\((?:cl-)?def[\w-]*[ \t]+(?:\^\S{1,40}[ \t]+)?\(?([^\s()\[\]]+)",),
        comments=(";",),
    ),
    Family(
        "make",
        ".mk .mak makefile gnumakefile justfile",
        (r"(?!\.[A-Z])([\w./%$(){}@-]+)(?:[ \t][^:=#\n]{0,200})?::?(?!=)", r"define[ \t]+(\w+)"),
        comments=("#",),
        attached=r"\.PHONY",
        nesting=Nesting.FLAT,
    ),
    Family(
        "cmake",
        ".cmake cmakelists.txt",
        (r"(?i:function|macro|add_executable|add_library)[ \t]*\([ \t]*([\w:.-]+)",),
        comments=("#",),
    ),
    Family(
        "docker",
        ".dockerfile dockerfile containerfile",
        (r"(?i:from)[ \t]+\S+[ \t]+(?i:as)[ \t]+([\w.-]+)",),
        comments=("#",),
        nesting=Nesting.FLAT,
    ),
    Family(
        "hcl",
        ".tf .tfvars .hcl .proto .graphql .gql .thrift .prisma",
        (
            _TERRAFORM,
            _SCHEMA,
        ),
        comments=("#", "//", "/*"),
        block=_C_BLOCK,
    ),
    Family(
        "sections",
        ".toml .ini .cfg .conf .properties .editorconfig .gitconfig .service .desktop .env .lock"
        " .gitmodules .flake8 .pylintrc .coveragerc pipfile .gitignore .gitattributes .dockerignore"
        " .mempalignore .npmrc requirements.txt constraints.txt",
        (r"\[{1,2}[ \t]*([^\[\]\n]{1,100}?)[ \t]*\]",),
        comments=("#", ";"),
        nesting=Nesting.FLAT,
    ),
    Family(
        "yaml",
        ".yaml .yml",
        (r"(?:-[ \t]+)?([A-Za-z_][\w./-]*):[ \t]*(?:#.*)?$",),
        comments=("#",),
    ),
    Family(
        "styles",
        ".css .scss .sass .less",
        (r"([^{}@;/*\n][^{};\n]{0,99})\{$", r"@(?:mixin|function|keyframes)[ \t]+([\w-]+)"),
        comments=_C_COMMENTS,
        block=_C_BLOCK,
    ),
    Family(
        "markup",
        ".html .htm .xhtml .xml .xsl .svg .jinja .j2 .erb .ejs .hbs",
        (r"<h[1-6][^>\n]{0,100}>[ \t]*([^<\n]{1,100})", r"<(?:title|summary)>([^<\n]{1,100})"),
        comments=("<!--",),
        block=("<!--", "-->"),
        nesting=Nesting.FLAT,
    ),
    Family("data", ".json .jsonl .ndjson .json5 .jsonc .geojson .ipynb .csv .tsv .log .sum .diff"),
)

# Part of a ``#!`` line, and the extension it stands for; the first that is found decides.
_INTERPRETERS = (
    ("python", ".py"),
    ("node", ".js"),
    ("deno", ".ts"),
    ("ruby", ".rb"),
    ("perl", ".pl"),
    ("php", ".php"),
    ("lua", ".lua"),
    ("sh", ".sh"),
)


@cache
def _index_families() -> dict[str, Family]:
    return {file: family for family in FAMILIES for file in family.files.split()}


def find_family(path: str, text: str = "") -> Family:
    """Return the family of a file; prose when nothing tells.

    Args:
        path: Its path or name; the whole name decides, else the extension.
        text: Its beginning; a ``#!`` line decides when the name does not.
    """
    name = re.split(r"[/\\]", path)[-1].lower()
    stem, dot, extension = name.rpartition(".")
    index = _index_families()
    # The stem alone is for Makefile.am, Dockerfile.dev and the like.
    for key in (name, dot + extension, stem):
        if key in index:
            return index[key]
    return index[_read_interpreter(text)]


def _read_interpreter(text: str) -> str:
    if text.startswith("#!"):
        line = text[:HEAD].partition("\n")[0]
        for word, extension in _INTERPRETERS:
            if word in line:
                return extension
    return ".txt"


@cache
def compile_definitions(family: Family) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a family's definitions as one pattern, for lines at the margin and for others.

    A pattern of no definitions matches nothing.
    """
    margin = family.definitions + family.margin
    inner = () if family.nesting is Nesting.FLAT else family.definitions
    return _join(margin), _join(inner)


def _join(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")
