"""The built-in language model: no key, no network; it answers in the documents' own words."""

import asyncio
import json
from collections.abc import Sequence

from gateway.catalogue import DEFAULT_LANGUAGE, text
from gateway.core.chat import ChatMessage, Draft, Speaker, Tool, ToolCall
from gateway.core.followups import Resolved, resolve, said
from gateway.core.matching import script
from gateway.core.passage_block import CLOSE, ShownPassage
from gateway.core.prompt import TOOL_SEARCH, is_searchable, parse_passages
from gateway.interfaces import OnDelta
from gateway.llm.quoting import Quote, quotes

LANGUAGE_OF_SCRIPT = {"zh": DEFAULT_LANGUAGE, "ja": "ja", "en": "en"}


class ExtractiveModel:
    """Implements `interfaces.LanguageModel`: quotes passages, or says that nothing fits.

    It behaves like a model with the tool (DESIGN section 8.14): where no passage came with the
    question it searches once, and never says a word that no passage holds. A follow-up question
    is read after what was said before it.
    """

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        """Quote, search first, or say that nothing fits; shown sentence by sentence."""
        asked_at = _asked_at(messages)
        if asked_at is None:
            return Draft("")
        asked = messages[asked_at].text
        question = asked.rpartition(CLOSE)[2].strip()
        meant = resolve(question, said(messages[:asked_at]))
        injected = parse_passages(asked)
        results = [m.text for m in messages[asked_at + 1 :] if m.speaker is Speaker.TOOL]
        found = tuple(passage for result in results for passage in parse_passages(result))
        if _may_search(question, injected, results, tools):
            wanted = meant.text if meant.is_sure else question
            query = json.dumps({"query": wanted}, ensure_ascii=False)
            return Draft("", (ToolCall("search_1", TOOL_SEARCH.name, query),))
        # in a thread: with many passages it takes longer than the event loop may wait
        answer = await asyncio.to_thread(_answer, meant, injected, found)
        for line in answer.splitlines(keepends=True):
            await on_delta(line)
        return Draft(answer)


def _asked_at(messages: Sequence[ChatMessage]) -> int | None:
    places = (at for at, each in enumerate(messages) if each.speaker is Speaker.USER)
    return max(places, default=None)


def _may_search(
    question: str, injected: Sequence[ShownPassage], results: Sequence[str], tools: Sequence[Tool]
) -> bool:
    is_offered = any(tool.name == TOOL_SEARCH.name for tool in tools)
    return is_offered and not injected and not results and is_searchable(question)


def _answer(
    meant: Resolved, injected: tuple[ShownPassage, ...], found: tuple[ShownPassage, ...]
) -> str:
    language = LANGUAGE_OF_SCRIPT[script(meant.question)]
    if not is_searchable(meant.question):
        return text("llm.ask_me", language)
    chosen = quotes(
        meant.own_words, injected + found, are_relevant=bool(injected), carried=meant.carried
    )
    return "\n".join(map(_marked, chosen)) or text("chat.no_answer", language)


def _marked(quote: Quote) -> str:
    """The mark stands apart from Latin letters, where it would read as an index."""
    gap = " " if quote.text[-1:].isascii() else ""
    return f"{quote.text}{gap}[{quote.n}]"
