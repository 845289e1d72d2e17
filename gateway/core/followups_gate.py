"""Whether a message leans on what was said before it, told by its own words (FEATURES F7)."""

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum

from gateway.core.followups_slots import without_amounts
from gateway.core.matching import has_terms, script

MOST_CHARS = 60  # of a Chinese or Japanese follow-up; who writes more, says what is meant
MOST_WORDS = 20  # of an English one
LONG_OPENED = 4  # letters of content from which 那… and では… begin a question of its own
LONG_POINTED = 10  # the same behind a pronoun
SHORT = 5  # letters of content of a message that may lean although no word of it says so
SHORT_WORDS = 2  # English words


class Leaning(IntEnum):
    """How surely a message leans on what came before."""

    NOT = 0
    MAYBE = 1  # short: the conversation helps if the message alone finds nothing
    SURE = 2  # it says so: 那…呢, それ, what about


@dataclass(frozen=True, slots=True)
class Leaned:
    """A message taken apart: `rest` is what it says itself, `asks` that it asks in own words.

    `own` is what it is about by itself: without the words of asking, without properties of
    something (deadline, fee), measures and numbers; empty where it names nothing at all.
    `is_marked`: it begins like a reply (那, じゃあ, what about) or points back (它, それ, that).
    """

    leaning: Leaning
    rest: str
    own: str
    asks: bool
    is_marked: bool = False


_NUMERAL = r"[0-9一二三四五六七八九十]"
_THANKS = re.compile(
    r"(?:非常|真的|太|很|都)?(?:[嗯哈呵嘻]+|謝謝|谢谢|感謝|感谢|多謝|多谢|謝|好的?|了解|瞭解|明白|清楚|知道|收到"
    r"|沒問題|没问题|沒事|辛苦|再見|早安|你好|您好|午安|晚安|哈囉|原來如此"
    r"|ありがとう|有難う|有り難う|感謝|助かり|了解|承知|わかり|分かり|なるほど|こんにちは|おはよう"
    r"|お疲れ|はい|いいえ|すみません|ok(?:ay)?|thank(?:s| you)?|thx|great|cool|nice|perfect|got it"
    r"|i see|understood|hi|hello|hey|bye|good morning|yes|no|sure|fine|right)"
)
_POLITE = re.compile(
    r"(?:你們?|您|妳|我|了|啊|喔|哦|囉|啦|的|就|那|ございます|ござい|ました|でした|です|ます|どうも|ね|よ"
    r"|it|that|this|very|much|so|for|the|your|you|a lot|helps?|help|then|all|again|now)"
)

_OPENS = {
    "zh": re.compile(
        r"(?:(?:那麼|那么|那|如果(?:是|換成|换成)?|要是|換成|换成|改成|還有|还有|另外|而且?|但是?|可是|所以"
        r"|至於|至于)[,，、 ]*)+"
    ),
    "ja": re.compile(
        r"(?:(?:それでは|それじゃあ?|それなら|では|じゃあ?|なら|ちなみに|あと|でも|または?|それと|一方で?)"
        r"[、, ]*)+"
    ),
    "en": re.compile(
        r"(?:and|or|but|also|then|so|ok(?:ay)?|well)?[, ]*(?:what|how) (?:about|if)\b[, ]*"
        r"|(?:same (?:question )?for|in that case|as for|and|or|but|also|then|so)\b[, ]*"
    ),
}
_SURELY_OPENS = re.compile(r"[a-z, ]*(?:what|how) (?:about|if)\b|same\b|in that case\b|as for\b")
_ENDS = {
    "zh": re.compile(r"(?:的話|的话)?呢\W*\Z|(?:的話|的话)\W*\Z"),
    "ja": re.compile(
        r"(?:(?:の場合|のとき|だと|だったら|なら|では|でも|も)(?:は|も)?|は|って|たら|れば|と)"
        r"(?:どう(?:ですか|でしょうか|なりますか|なの|なる)?)?\W*\Z"
    ),
    "en": re.compile(r"\b(?:too|as well|instead|then|either)\W*\Z"),
}
_POINTS = {
    "zh": re.compile(
        r"它們?|它们|牠|他們?|他们|她們?|她们|[這这那](?:個|个|種|种|樣|样|些|項|项|筆|笔|邊|边|裡|里|時|时"
        r"|張|张|份|件|次|方面)|前者|後者|后者|其中|上述|剛才|刚才|剛剛|刚刚|同樣|同样|一樣|一样"
        rf"|第{_NUMERAL}+(?:個|个|種|种|項|项|點|点)|最後一|最后一|也|[還还](?=[能可要有需])"
    ),
    "ja": re.compile(
        r"それ|これ|あれ|そっち|こっち|あっち|そちら|こちら|そこ|ここ|その|この|あの|そう|同じ|同様"
        rf"|前者|後者|{_NUMERAL}つ目|{_NUMERAL}番目|最後の|他[にはのも]|ほか[にはのも]|[いき]ほう|方は"
    ),
    "en": re.compile(
        r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|him|his|she|her|hers|ones?"
        r"|same|former|latter|else|otherwise|such|first|second|third|fourth|last)\b"
    ),
}
_THERE = re.compile(r"\b(?:first|second|third|fourth|last|one) (?!one\b)[a-z]{3,}")

# Words of asking: what is left without them is what the message is about.
_ASKS = {
    "zh": re.compile(
        r"請問|请问|可不可以|能不能|會不會|会不会|要不要|是不是|有沒有|有没有|可以|什麼時候|什么时候|什麼|什么"
        r"|甚麼|多少錢|多少钱|多少|多久|多長|多长|多遠|多远|[幾几](?:天|日|週|周|個月|个月|個|个|點|点|歲|岁|年"
        r"|月|折|期|次|人|元|號|号|趟)?|怎麼辦|怎么办|怎麼|怎么|怎樣|怎样|如何|為什麼|为什么|為何|是否|哪裡|哪里|哪些"
        r"|哪個|哪个|哪一|哪|誰|谁|[嗎吗]|吧|啊|需要|應該|应该|最多|最少"
    ),
    "ja": re.compile(
        r"教えて(?:ください)?|何(?:日間?|時間?|人|回|個|円|年|か月|ヶ月|週間|名|台|つ|歳)?|なに|いくら|いくつ"
        r"|いつ(?:まで|から)?|どこ|どれ(?:くらい|ぐらい)?|どの(?:くらい|ぐらい|よう)?|どう(?:やって|すれば)?"
        r"|どんな|なぜ|誰|だれ|(?:です|ます|でしょう|ません|ました)か|(?:あり|なり|でき|使え|もらえ|出)ます"
        r"|必要|可能"
    ),
    "en": re.compile(
        r"['’]s\b|\b(?:what|which|who|whom|whose|when|where|why|how(?: (?:many|much|long|often|far"
        r"|old|soon|early|late))?|is|are|was|were|do|does|did|can|could|may|must|should|will|would"
        r"|has|have|had)\b"
    ),
}
_FINITE = re.compile(r"\b(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would)\b")
_NO_CONTENT = {
    "zh": re.compile(
        r"我們?|我们|你們?|你们|您|們|们|[的了是有要會会能得被把在到跟和與与或從从向給给就再還还都只很太最更也先不]"
    ),
    "ja": re.compile(r"場合|時|方|こと|もの|です|ます"),
    "en": re.compile(
        r"\b(?:an?|the|of|to|in|on|for|by|at|with|from|and|or|but|not|any|some|i|me|my|we|our|us"
        r"|you|your|there|be|been|get|got|also|then|than|so|too|as|about|if|please|need|give|pay"
        r"|take|long|much|many|just)\b"
    ),
}
# Names of properties: who asks for one alone has said before of what.
_PROPERTIES = {
    "zh": re.compile(
        r"期限|有效期限?|截止日?|費用|费用|價格|价格|價錢|价钱|金額|金额|手續費|手续费|手續|手续|薪水|工資|工资"
        r"|薪資|薪资|證明|证明|附|文件|資料|资料|表單|表单|流程|步驟|步骤|條件|条件|資格|资格|對象|对象|上限|下限"
        r"|限制|電話|电话|分機|分机|地點|地点|地址|時間|时间|日期|申請|申请|提前|主管|同意|核准|簽|签|辦理|办理"
        r"|規定|规定|原因|單位|单位|算|付|拿|退|滿|满|辦|办|做|錢|钱|差別|差别|期"
        r"|超過|超过|逾期|過期|过期|來不及|来不及|忘記?|忘记|弄丟|弄丢|丟|丢|遺失|遗失|分開|分开|分次|延長|延长"
        r"|延期|延到?|取消|修改|改|補|补|換|换|請|请|領|领|用|報|报|等|久|貴|贵|便宜|早|晚|遲|迟|沒|没|不行|行|寄|找"
        r"|跟|交|送|錯|错|壞|坏|之前|之後|之后|以前|以後|以后|以上|以下|以內|以内|[前後后內内第]"
    ),
    "ja": re.compile(
        r"期限|締め?切り?|費用|料金|値段|金額|手当|手数料|手続き?|給料|給与|証明書?|書類|資料|条件|資格|対象"
        r"|上限|下限|制限|電話番号|電話|番号|内線|場所|住所|時間|日程|申請|方法|理由|承認|許可|提出|支払|払|取|出"
        r"|使|余|違い|担当者?|連絡先?|届|過ぎ?|超え?|忘れ|遅れ|壊|失|変更?|分割|延長|取り?消|借|貸|振り?込|受け?取|後|前"
        r"|まで|から|くらい|つき|つく|もらえ"
    ),
    "en": re.compile(
        r"\b(?:deadlines?|fees?|costs?|price|prices|charge|charges|amounts?|limits?|notes?|notice"
        r"|forms?|documents?|proof|approval|approve[sd]?|apply|request|requirements?|conditions?"
        r"|phone|number|address|place|time|date|days?|weeks?|months?|hours?|difference|reasons?"
        r"|deposits?|refunds?|exceptions?|paid|expires?|valid|eligible|per|extra|late|later|lose"
        r"|lost|cancel|change|extend|allowed|cover(?:ed|s)?|included?s?|happens?|break|work|works"
        r"|from|until|both|more|less|something|somebody|someone)\b"
    ),
}
_LETTER = re.compile(r"[\u3005-\u3007\u3400-\u9fff\u30a1-\u30ffa-z0-9]")
_WORD = re.compile(r"[a-z0-9][a-z0-9'’-]*")


def normal(text: str) -> str:
    """The one form that all of this reads: NFKC, lower case, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def leaned(message: str) -> Leaned:
    """Take a message apart. Only its words are looked at, not whether anything was said before."""
    text = normal(message)
    tongue = script(text)
    if not has_terms(text) or _is_long(text, tongue) or is_thanks(text):
        return Leaned(Leaning.NOT, text, text, asks=True)
    opened = _OPENS[tongue].match(text)
    rest = text[opened.end() :] if opened else text
    ended = _ENDS[tongue].search(rest)
    if tongue != "ja" and ended:
        rest = rest[: ended.start()]
    points = _points(rest, tongue)
    asks = _ASKS[tongue].search(rest) is not None
    bare = _POINTS[tongue].sub(" ", rest) if points else rest
    subject = _NO_CONTENT[tongue].sub(" ", _ASKS[tongue].sub(" ", bare))
    own = " ".join(_PROPERTIES[tongue].sub(" ", without_amounts(subject)).split())
    marked = _Marks(_opens(opened, rest, tongue), ended is not None, points)
    own = own if _size(own, tongue) else ""
    leaning = _leaning(marked, _size(subject, tongue), _size(own, tongue), tongue)
    rest = (bare if tongue == "zh" else rest).strip(" ?!,。、")
    return Leaned(leaning, rest, own, asks, marked.opens or marked.points)


@dataclass(frozen=True, slots=True)
class _Marks:
    """What in a message says that it leans."""

    opens: bool
    ends: bool
    points: bool


def is_thanks(text: str) -> bool:
    """Nothing but thanks, a greeting or assent, in the form of `normal`."""
    if not _THANKS.match(text.lstrip("~!,. ")):
        return False
    left = _POLITE.sub(" ", _THANKS.sub(" ", text))
    return _size(left, script(text)) == 0


def _leaning(marked: _Marks, size: int, own: int, tongue: str) -> Leaning:
    """`size` of all it is about, `own` of what of it is no mere property."""
    short = SHORT_WORDS if tongue == "en" else SHORT
    names_nothing = 0 if tongue == "en" else 1  # one Chinese letter names no subject
    if own <= names_nothing or (marked.points and size <= LONG_POINTED):
        return Leaning.SURE
    if marked.opens or marked.ends:
        return Leaning.SURE if own <= LONG_OPENED else Leaning.MAYBE
    return Leaning.MAYBE if own <= short else Leaning.NOT


def _opens(opened: re.Match[str] | None, rest: str, tongue: str) -> bool:
    """Only "and when are deposits released?" only goes on; "and part-timers?" leans."""
    if opened is None:
        return False
    return tongue != "en" or bool(_SURELY_OPENS.match(opened[0])) or not _FINITE.search(rest)


def _points(rest: str, tongue: str) -> bool:
    found = _POINTS[tongue].search(rest)
    if found is None:
        return False
    return tongue != "en" or _POINTS[tongue].search(_THERE.sub(" ", rest)) is not None


def _is_long(text: str, tongue: str) -> bool:
    return len(_WORD.findall(text)) > MOST_WORDS if tongue == "en" else len(text) > MOST_CHARS


def _size(text: str, tongue: str) -> int:
    return len(_WORD.findall(text)) if tongue == "en" else len(_LETTER.findall(text))
