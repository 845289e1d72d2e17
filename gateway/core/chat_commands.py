"""What people can tell the gateway itself in a chat, beside asking questions (A22, A32); pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from unicodedata import category, normalize

MAX_CHARS = 500  # a command is a line; a pasted page is a question


class CommandKind(StrEnum):
    """What is wanted."""

    LINK = "link"  # with a code: ask for the binding; without: how to get one
    HELP = "help"
    ADD_SOURCE = "add_source"


@dataclass(frozen=True, slots=True)
class Command:
    """A command and what was written after it; `language` where the word itself tells."""

    kind: CommandKind
    argument: str = ""
    language: str | None = None


_WORDS = (
    (CommandKind.LINK, "綁定", "zh-TW"),
    (CommandKind.LINK, "绑定", "zh-TW"),
    (CommandKind.LINK, "連携", "ja"),
    (CommandKind.ADD_SOURCE, "加入知識庫", "zh-TW"),
    (CommandKind.ADD_SOURCE, "加入知识库", "zh-TW"),
    (CommandKind.ADD_SOURCE, "ナレッジに追加", "ja"),
)
_SLASHED = {
    "link": CommandKind.LINK,
    "bind": CommandKind.LINK,
    "start": CommandKind.HELP,
    "help": CommandKind.HELP,
}
_SLASH = re.compile(r"/([a-z]+)(?:@\w+)?(?:\s+|$)", re.IGNORECASE)
_PLAIN = re.compile(r"(?:link|bind)(?:[\s:]+|$)", re.IGNORECASE)  # Slack keeps / to itself
_DASH = "[-\u2010-\u2015\u2212\u30fc\uff70_]"  # \u30fc: what a Japanese keyboard gives
_CODE = re.compile(
    rf"(?<![0-9A-Za-z])[0-9A-Za-z]{{5}}(?:(?P<dash>\s?{_DASH}\s?)|\s)?[0-9A-Za-z]{{5}}(?![0-9A-Za-z])"
)
_ONE_WORD = re.compile(rf"[\W_]*[0-9A-Za-z](?:[0-9A-Za-z]|{_DASH}|[ \u3000]){{0,40}}[\W_]*")


def parse(text: str) -> Command | None:
    """The command a message is, or None for a question."""
    if len(text) > MAX_CHARS:
        return None
    # zero-width characters come along with what is copied from a page
    seen = "".join(letter for letter in text if category(letter) != "Cf")
    said = normalize("NFKC", seen).strip()
    return _slashed(said) or _worded(said) or _plain(said)


def _slashed(said: str) -> Command | None:
    found = _SLASH.match(said)
    kind = _SLASHED.get(found[1].lower()) if found else None
    if found is None or kind is None:
        return None
    rest = said[found.end() :].strip()
    return Command(kind, _code_in(rest) or rest if kind is CommandKind.LINK else rest)


def _worded(said: str) -> Command | None:
    for kind, word, language in _WORDS:
        if not said.startswith(word):
            continue
        rest = said[len(word) :]
        argument = rest.lstrip(" \t\r\n:").strip()
        if kind is CommandKind.ADD_SOURCE:
            # a word that goes on is a question about it
            is_meant = not argument or rest[0] in " \t\r\n:" or rest[0].isascii()
            return Command(kind, argument, language) if is_meant else None
        if not argument:
            return Command(kind, "", language)
        code = _code_in(argument) or (argument if _ONE_WORD.fullmatch(argument) else None)
        return None if code is None else Command(kind, code, language)
    return None


def _plain(said: str) -> Command | None:
    """The Latin word is a command alone and with a whole code, not as the start of a question."""
    found = _PLAIN.match(said)
    if found is None:
        return None
    rest = said[found.end() :]
    code = _code_in(rest)
    return None if code is None and rest else Command(CommandKind.LINK, code or "")


def _code_in(text: str) -> str | None:
    """The first thing of a code's form: what else was written must not take it to a model."""
    for found in _CODE.finditer(text):
        if found["dash"] or any(letter.isdigit() for letter in found[0]):
            return found[0]
    return None
