"""What a turn makes of the words it is asked: the language, how much is read, which agent."""

from unicodedata import category

from gateway.core.access import Account
from gateway.core.folding import storable
from gateway.core.matching import has_terms, script
from gateway.core.scope import Scope
from gateway.core.scope_reasons import Why

MAX_CHARS = 8_000  # of one message; a pasted book would leave no room for passages
WORDLESS = "…"  # models refuse an empty message; this one holds nothing to look up either
_UNSEEN = frozenset({"Cf", "Cc", "Mn", "Me"})  # marks alone have nothing to stand on
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs that show nothing
_LANGUAGES = {"zh": "zh-TW", "ja": "ja", "en": "en"}
_NOT_OF_AGENT = frozenset({Why.NOT_GRANTED_TO_AGENT.value, Why.NOT_IN_AGENT_LIST.value})


def language_of(text: str) -> str | None:
    """The language a text is written in, None where it holds no word."""
    return _LANGUAGES[script(text)] if has_terms(text) else None


def reply_language(
    account: Account | None, channel_setting: str | None, text: str, default: str
) -> str:
    """The account's, else the channel's, else the text's own (DESIGN section 8.11)."""
    of_account = account.language if account is not None else None
    return of_account or channel_setting or language_of(text) or default


def read_part(text: str) -> tuple[str, bool]:
    """What of a message goes into the prompt and is searched for, and whether that is all."""
    kept = storable(text[:MAX_CHARS]).strip()
    return kept or WORDLESS, len(text) <= MAX_CHARS


def agent_has_collections(scope: Scope) -> bool:
    """The agent's side has a collection, whoever asks and whatever that person may read."""
    return any(reason.code not in _NOT_OF_AGENT for reason in scope.reasons)


def is_blank(text: str) -> bool:
    """Nothing in it can be seen: empty, white space, zero-width characters, fillers."""
    return all(
        letter.isspace() or letter in _FILLERS or category(letter) in _UNSEEN for letter in text
    )
