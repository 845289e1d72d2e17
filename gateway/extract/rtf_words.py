"""Control words of Rich Text that stand for characters, and those whose groups aren't shown."""

import re

CHARACTERS = {
    "tab": "\t", "line": "\n", "lbr": "\n", "emdash": "—", "endash": "–", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": "\u2003",
    "enspace": "\u2002", "qmspace": "\u2005", "zwj": "\u200d", "zwnj": "\u200c",
    "zwbo": "", "~": "\u00a0", "_": "\u2011", "-": "", "{": "{", "}": "}", "\\": "\\",
}  # fmt: skip
PARAGRAPH_ENDS = frozenset({"par", "sect", "page", "column", "\n", "\r", "softpage"})
HEADERS = frozenset(
    {"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"}
)
# tables of the document, pictures, comments, fields' codes, index entries, what has a newer form
_SKIPPED = frozenset(
    {
        "colortbl", "pict", "fldinst", "annotation", "atnid", "atnauthor", "atnref", "atntime",
        "atndate", "atnicn", "atrfstart", "atrfend", "nonshppict", "nonesttables", "shprslt",
        "themedata", "colorschememapping", "datastore", "latentstyles", "listtable",
        "listoverridetable",
        "rsidtbl", "generator", "filetbl", "revtbl", "xe", "tc", "tcn", "rxe", "txe", "pntxta",
        "pntxtb", "private", "template", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc",
        "aftncn", "background", "objdata", "objclass", "objname", "sp", "passwordhash", "mmathPict",
        "bkmkstart", "bkmkend", "keywords", "falt", "panose", "fname", "mvfmf",
    }
)  # fmt: skip
# groups of which only one kind of group inside is shown
INNER = {"shpinst": "shptxt", "upr": "ud", "info": "title"}
# the new ones that are text, and the one that ends rows of inner tables
_STARRED = frozenset({"shpinst", "ud", "moMath", "moMathPara", "nesttableprops"})
_HEADING = re.compile(r"(?:heading|標題|标题|見出し|제목) ?([1-6])(?:[,;].*)?", re.IGNORECASE)


def is_skipped(word: str, *, is_starred: bool) -> bool:
    """Whether a group that begins with the word holds nothing to show."""
    is_new = is_starred and word not in _STARRED
    return is_new or word in _SKIPPED or (word.startswith("m") and word.endswith("Pr"))


def named_level(style: str) -> int | None:
    """The level of a style by its name."""
    match = _HEADING.fullmatch(style.strip())
    return int(match[1]) if match else None
