"""Splitting and formatting: what a model and a title may hold, as each platform gets it.

Held elsewhere: where cuts fall, graphemes, fences and units (`tests/core/test_splitting.py`,
`test_splitting_escaped.py`), citation marks (`tests/core/test_citations.py`), what is no answer
(`tests/journeys/test_turn.py`), the formatting refusal (`test_telegram_client`).
"""

import functools
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import regex

from gateway.catalogue import text
from gateway.core.asking import is_blank
from gateway.core.finishing import finish
from gateway.core.messages import Limits, Unit
from gateway.core.passages import Locator, Passage
from gateway.core.splitting import split
from gateway.core.turns import PresentedPassage
from gateway.interfaces import Channel, Claimed
from tests.faults.doors import Open, Turn, door, each_platform, line, slack, until
from tests.journeys.durable import Durable

NOTICE = text("chat.cut_notice", "en")
MORE = text("chat.footer_more", "en")
FAMILY = "👨\u200d👩\u200d👧\u200d👦"
HOSTILE = (
    "@everyone <!channel> <@U1> <https://evil|Policy>",
    "[click](https://evil.example/x) ![x](https://evil.example/y) [1][2]",
    "*_~`|# ```bold``` __under__ ||spoiler||",
    "line\r\nbreak\u2028next\u2029last\x00\x07\x1b[31m",
    "\u202egnp.exe\u2066\u200b\ufeff" + "題" * 4000,
    "<t:1618953630:R> </cmd:12> <#42> <:e:9> <id:guide> @here",
    "https://evil.example/?q=1 tg://resolve?domain=x t.me/evil javascript:alert(1)",
    "&lt;!channel&gt; &amp; \\*not\\* $& %s {0}",
    f"{FAMILY * 30} e\u0301\u0301\u0301 🇹🇼🇯🇵",
    "",
)


def passage(n: int, title: str, heading: str = "") -> PresentedPassage:
    locator = Locator(page=n, heading=(heading,) if heading else ())
    said = "@channel <!here> [9](x) 特休七日。"
    return PresentedPassage(n, Passage(n, "c", f"s{n}", "r", n, title, said, locator))


@functools.cache
def parts_of(draft: str, titles: tuple[str, ...], limits: Limits) -> tuple[str, tuple[str, ...]]:
    """(footer, parts) of a draft that cites every title, as a turn makes them."""
    presented = [passage(n, title) for n, title in enumerate(titles, 1)]
    marks = "".join(f"[{n}]" for n in range(1, len(titles) + 1))
    done = finish(f"{marks} {draft}", presented, "特休", limits, MORE)
    return done.footer, split(done.text, done.footer, limits, NOTICE)


def saying(draft: str, titles: tuple[str, ...]) -> Turn:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        await half.reply(claimed, *parts_of(draft, titles, channel.limits)[1])

    return turn


# ---------------------------------------------------------------- the sources are always whole

LONG: dict[str, str] = {
    "plain": "長" * 30_000,
    "lines": "one line of an answer\n" * 1_500,
    "emoji": FAMILY * 1_000,
    "flags": "🇹🇼" * 4_000,
    "entities": "&<>" * 10_000,
    "one fence": "```py\n" + "x" * 20_000 + "\n```",
    "a fence left open": "```\n" + "print('x')\n" * 3_000,
    "marks": "done [1] " * 3_000,
    "markdown": "*_~` -." * 4_000,
    "unseen": "words" + "\u200b" * 25_000 + "more words",
    "controls": "a\x00\x07" * 15_000,
}


@each_platform
@pytest.mark.parametrize("draft", LONG.values(), ids=LONG)
async def test_a_long_answer_ends_with_all_its_sources(
    platform: Open, draft: str, tmp_path: Path
) -> None:
    """Six sources with hostile titles; the simulator refuses and reports what is over a limit."""
    titles = HOSTILE[:6]
    async with platform() as opened, door(opened, tmp_path, saying(draft, titles)) as here:
        footer, parts = parts_of(draft, titles, here.channel.limits)
        await here.ask("long")
        await until(lambda: here.texts()[-1:] and "[1]" in here.texts()[-1])
        assert set(await here.half.settled()) == {"sent"}
        limits = here.channel.limits
        assert len(here.texts()) <= limits.parts_per_call * limits.max_calls
        last = here.texts()[-1]
        assert shown(last).endswith(shown(footer))
        assert MORE.replace("{count}", "1") in last
        for n in range(1, 6):
            assert re.search(rf"^\[{n}\] .*p\. {n}", last, re.MULTILINE)
        assert not any(is_blank(each) for each in here.texts())
        assert len(here.texts()) == sum(not is_blank(each) for each in parts)


def shown(words: str) -> str:
    """As a platform that trims a text shows it."""
    return "\n".join(line.rstrip() for line in words.strip().split("\n"))


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("titles", [HOSTILE[:6], ("題" * 600,) * 9], ids=["hostile", "long"])
def test_whatever_the_limits_the_footer_is_whole_in_the_last_part(
    unit: Unit, titles: tuple[str, ...]
) -> None:
    scale = 4 if unit in (Unit.BYTES, Unit.SLACK_ESCAPED) else 1
    for size, calls in ((700, 1), (1000, 3)):
        limits = Limits(unit, size * scale, 1, 450 * scale, calls, has_markdown=True)
        for draft in LONG.values():
            footer, parts = parts_of(draft[:4_000], titles, limits)
            assert parts[-1].endswith(footer)
            assert len(parts) <= calls
            assert all(measured(part, unit) <= size * scale for part in parts)


def measured(words: str, unit: Unit) -> int:
    """As the platforms count, by the standard library."""
    if unit is Unit.BYTES:
        return len(words.encode())
    if unit is Unit.CODE_POINTS:
        return len(words)
    words = html.escape(words, quote=False) if unit is Unit.SLACK_ESCAPED else words
    return len(words.encode("utf-16-le")) // 2


# ---------------------------------------------------------------- nothing to see is nothing to send

UNSEEN = ["", " ", "\n\n", "\u200b", "\u2060\ufeff", "\x07\x00", "\u3164", "\u200d\ufe0f", "\u00ad"]


@each_platform
async def test_a_part_in_which_nothing_can_be_seen_is_never_sent(
    platform: Open, tmp_path: Path
) -> None:
    async def turn(half: Durable, claimed: Claimed, _: Channel) -> None:
        words = claimed.message.text
        await half.reply(claimed, *(UNSEEN if words == "nothing" else ["a", *UNSEEN[:3], "b"]))

    async with door(platform, tmp_path, turn) as here:
        await here.ask("nothing")
        await here.ask("something")
        await until(lambda: len(here.texts()) == 2)
        assert here.texts() == ["a", "b"]
        assert set(await here.half.settled()) == {"sent"}


# ---------------------------------------------------------------- nothing in a text is live

LIVE = {  # what each platform itself would make something of
    "line": regex.compile(r"(?!)"),
    "telegram": regex.compile(r"(?<![\w@])@[A-Za-z0-9_]"),
    "slack": regex.compile(r"<[!@#]|<[^<>\s]+\|"),
    "discord": regex.compile(
        r"@(everyone|here)|<(@|#\d|/\S+:\d|t:|id:|a?:\w+:\d|https?:)|\]\(\w+:"
    ),
    "odoolivechat": regex.compile(r"(?!)"),
}
BODIES = [title for title in HOSTILE if title] + [
    "Ask @everyone in <!channel> or <@U0000PERS|boss>, see <https://evil.example|our policy>.",
    "| a | b |\n|---|---|\n| @here | <!subteam^S1|team> |",
    "```\n@everyone <!here>\n```\nand `<@U1>` and <#C1|general>",
    "> <!everyone>\n- [Policy](https://evil.example/login)\n1. *x* _y_ ~z~",
]


@each_platform
async def test_no_body_and_no_title_calls_anybody_or_hides_a_link(
    platform: Open, tmp_path: Path
) -> None:
    async def turn(half: Durable, claimed: Claimed, channel: Channel) -> None:
        body = BODIES[int(claimed.message.text)]
        await half.reply(claimed, *parts_of(body, (body, *HOSTILE), channel.limits)[1])

    async with platform() as opened, door(opened, tmp_path, turn) as here:
        live = LIVE[here.channel.name]
        for n in range(len(BODIES)):
            await here.ask(str(n), "group")
        await until(lambda: len(here.texts("group")) >= len(BODIES))
        assert set(await here.half.settled()) == {"sent"}
        for said in raw(opened.channel.name, opened.simulator):
            assert not live.search(said), said
            assert "evil.example/" not in said
            assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", said)


def raw(name: str, simulator: Any) -> list[str]:
    """What went over the wire, escapes and all."""
    told: dict[str, Callable[[Any], list[str]]] = {
        "line": lambda s: [each for sent in s.deliveries for each in sent.texts],
        "telegram": lambda s: [each.text for each in s.deliveries],
        "slack": lambda s: [each["text"] for each in s.bodies if "text" in each],
        "discord": lambda s: [each["content"] for each in s.payloads],
        "odoolivechat": lambda s: [each["text"] for each in s.replies],
    }
    return told[name](simulator)


@each_platform
async def test_a_title_shows_its_own_signs_in_one_line(platform: Open) -> None:
    """Where Markdown is read its signs are look-alikes, so that a title formats nothing."""
    async with platform() as opened:
        limits = opened.channel.limits
    reads_markdown = opened.channel.name in ("slack", "discord")
    assert limits.has_markdown is reads_markdown
    for title in HOSTILE:
        footer, _ = parts_of("x", (title,), limits)
        first, *rest = footer.split("\n")
        assert len(rest) == 1  # the excerpt
        assert len(first) <= 120
        assert not re.search(r"[@<>\u2028\u2029\u202a-\u202e\u2066-\u2069]", footer)
        if reads_markdown:
            assert not re.search(r"[*_~`|#\\]", footer)


async def test_escapes_are_never_cut_and_are_counted(tmp_path: Path) -> None:
    """Slack's own: what is shown comes back whole from what was sent."""
    draft = "&" * 900 + "<>" * 4_000
    async with slack() as opened, door(opened, tmp_path, saying(draft, ())) as here:
        await here.ask("long")
        await until(lambda: len(here.texts()) >= 8)
        assert set(await here.half.settled()) == {"sent"}
        assert "".join(here.texts()).strip() == draft
        for said in raw("slack", opened.simulator):
            assert len(said) <= 3900
            assert re.sub(r"&(amp|lt|gt);", "", said).count("&") == 0


async def test_marks_and_code_go_out_as_they_are(tmp_path: Path) -> None:
    draft = "*   **整體**：a_b_c [3] (x)\n`arr[1]` https://hr.example/a_b_c/d_e [2][7][2][9]"
    async with line() as opened, door(opened, tmp_path, saying(draft, ("A", "B", "C"))) as here:
        await here.ask("x")
        await until(here.texts)
        (said,) = here.texts()
    assert "*   **整體**：a_b_c [3] (x)\n`arr[1]`" in said
    assert "[2][2]" in said
    assert "[7]" not in said
