"""What a follow-up keeps of the question before it, and what it puts something else in place of."""

import re

from gateway.core.matching import script

_NUMBER = r"(?:[0-9][0-9,.]*|[〇零一二兩两三四五六七八九十百千萬万半]+)"
_KINDS = tuple(
    re.compile(pattern)
    for pattern in (
        # how long, how old: also 一年六か月 in one
        rf"(?:{_NUMBER}\s?(?:個半?月|个半?月|か月|ヶ月|カ月|週間?|周|天|日間|年半?|小時|小时|時間|歲|岁)"
        r"(?:以上|未滿|未满|未満|以下|以内|以內|的話)?)+"
        r"|\b(?:[0-9]+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?)"
        r"[ -](?:years?|months?|weeks?|hours?)\b(?: and a half)?",
        # by which measure of time
        r"\b(?:per|an?|each|every) (?:hour|day|week|month|year)\b"
        r"|\b(?:hour|dai|week|month|year)ly\b",
        # which day
        r"[0-9]{1,2}月(?:[0-9]{1,2}[日號号])?|[週周][一二三四五六日]|星期[一二三四五六日天]|[月火水木金土日]曜日?"
        r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
        r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b",
        # which sum
        rf"{_NUMBER}\s?(?:元|円|圓|塊|块|dollars?|usd|yen|%|percent|人|名|公斤|kg|公里|km|miles?)",
        r"[a-z]{1,5}-?[0-9]{2,}[a-z0-9-]*",  # part numbers
    )
)
# Words that stand in each other's place; the folding of the search makes one of their variants.
_CONTRASTS = tuple(
    re.compile("|".join(sorted(words.split("/"), key=len, reverse=True)))
    for words in (
        "日本/美國/美国/米国/歐洲/欧洲/歐盟/中國/中国/大陸/韓國/韩国/英國/英国/德國/德国/香港/新加坡/越南/泰國"
        "/台灣/臺灣/台湾/台北/臺北/台中/臺中/高雄/東京/大阪/京都/名古屋/福岡/\\bjapan\\b/\\beurope\\b"
        "/\\bthe us\\b/\\bgermany\\b/\\bfrance\\b/\\bchina\\b/\\bkorea\\b/\\btaiwan\\b",
        "國內/国内/國外/国外/海外/境外/本島/離島/本岛/离岛/\\bdomestic\\b/\\boverseas\\b/\\babroad\\b",
        "課長/部長/処長/處長/經理級?/经理级?/協理/副總/副总/總經理/总经理/主任/主管/組長/係長/社長/役員"
        "/一般社員/一般員工/\\bmanagers?\\b/\\bdirectors?\\b/\\bteam leads?\\b",
        "正職/正职/全職/全职/兼職/兼职/約聘(?:人員)?/约聘/派遣(?:社員)?/工讀生?/實習生/实习生/正社員"
        "/契約社員/パート(?:社員)?/アルバイト/\\b(?:full|part)-?time(?:rs?)?(?: employees?)?"
        "/\\bcontractors?\\b/\\binterns?\\b/\\btemps?\\b",
        "祖父母/父母/配偶/兄弟姊妹/兄弟姉妹/子女/小孩/孩子/爸爸/媽媽/妈妈/父親/母親/本人/子ども/子供"
        "/\\bmothers?\\b/\\bfathers?\\b/\\bdads?\\b/\\bmoms?\\b/\\bpartners?\\b/\\badopt\\w+",
        "平日/假日/休日/國定假日/祝日/休息日/例假日/深夜/夜間/\\bweekdays?\\b"
        "/\\b(?:public )?holidays?\\b/\\bweekends?\\b/\\bnights?\\b/\\bsaturdays?\\b",
        "金卡/銀卡/银卡/白金卡/普卡/\\bgold\\b/\\bsilver\\b/\\bplatinum\\b",
        "早餐/午餐/晚餐/朝食/昼食/夕食/\\bbreakfast\\b/\\blunch\\b/\\bdinner\\b",
        "飛機/飞机/高鐵/高铁/火車/火车/計程車/计程车/捷運/自行開車/開車/飛行機/新幹線/タクシー/バス"
        "/\\btrains?\\b/\\bflights?\\b/\\btaxis?\\b",
        "去年/今年/明年/上個月/這個月/下個月/昨天/今天/明天/先月/今月/来月"
        "/\\blast year\\b/\\bnext year\\b",
        "大/小/大型/小型/大きい/小さい/\\bsmall\\b/\\blarge\\b/\\bmedium\\b/\\bmini\\b",
        "男性?/女性?/\\bmen\\b/\\bwomen\\b",
        "瑕疵品?/個人因素/不喜歡/故障/人為損壞",
    )
)
_HAN_WORD = re.compile(r"[\u3005-\u3007\u3400-\u9fff]{2,4}")
_TAILS = re.compile(r"[假費费金卡員员證证單单票險险稅税券點点休暇品機机車车室課部館店]")
_COMPOUND = re.compile(r"\b[a-z]+[ -]([a-z]{4,}s?)\b")
_ASKING = {
    "zh": re.compile(
        r"請問|请问|有?(?:多少錢|多少钱|多少|多久|[幾几](?:天|日|個月|个月|個|个|次|點|点|號|号)?)"
        r"|(?:是|要|有)?(?:什麼時候|什么时候|什麼|什么|甚麼|怎麼|怎么|怎樣|如何|哪裡|哪里|哪些|哪個|誰|谁)"
        r"(?:算|辦|办|請|请)?|可以|能不能|[嗎吗呢吧?!。]"
    ),
    "ja": re.compile(
        r"(?:は)?(?:何(?:日間?|時間?|人|回|個|円|年|か月|週間|名|台|歳)(?:まで|から)?|いくら|いつ(?:まで|から)?に?"
        r"|どこ|どう(?:やって|すれば)?|どれくらい|誰が?)|(?:もらえ|でき|使え|なり|あり|し|払い|計算し)?ます(?:か)?|ですか|か(?=\W|\Z)"
        r"|は(?=\W*\Z)|[?!。]"
    ),
    "en": re.compile(
        r"\b(?:what|which|who|when|where|why|how(?: (?:many|much|long|often|far|old|soon))?|is|are"
        r"|was|do|does|did|can|could|may|must|should|will|would|i|we|you|get|got|have|has)\b|[?!.]"
    ),
}


def kept(topic: str, rest: str, *, asks: bool) -> str:
    """The words of `topic` that a follow-up saying `rest` leaves standing; what it puts in place
    of one of them stands there.

    Both in the form of `followups_gate.normal`. `asks`: the follow-up asks in its own words, so
    the earlier asking goes; else it stays (特休有幾天 … 那半年呢).
    """
    for kind in (*_KINDS, *_CONTRASTS):
        told = kind.search(rest)
        if told is not None:
            topic = _replaced(kind, told[0], topic)
    topic = _without_alike(topic, rest)
    if asks:
        topic = without_asking(topic)
    return " ".join(topic.split())


def _replaced(kind: re.Pattern[str], told: str, topic: str) -> str:
    """滿一年的特休 → 半年的特休: in its place, which reads as a question to the encoder too."""
    was = kind.search(topic)
    if was is None or was[0] == told:
        return topic
    return f"{topic[: was.start()]}{told}{kind.sub(' ', topic[was.end() :])}"


def without_amounts(text: str) -> str:
    """A text without how long, how much, which day: such words are a place in another question."""
    for kind in _KINDS:
        text = kind.sub(" ", text)
    return text


def without_asking(text: str) -> str:
    """A question without the words that ask."""
    return " ".join(_ASKING[script(text)].sub(" ", text).split())


def _without_alike(topic: str, rest: str) -> str:
    """交通費 for 住宿費, floor sander for belt sander: words with one head, by its place."""
    for word in _HAN_WORD.findall(rest):
        if _TAILS.fullmatch(word[-1]) and word not in topic:
            alike = rf"[\u3005-\u3007\u3400-\u9fff]{{{len(word) - 1}}}{word[-1]}"
            topic = re.sub(alike, f" {word} ", topic, count=1)
    for compound in _COMPOUND.finditer(rest):
        if compound[0] not in topic:
            topic = re.sub(rf"\b[a-z]+[ -]{compound[1]}\b", " ", topic)
    return topic


_LISTED = re.compile(r"^\s*(?:[0-9]{1,2}[.、)）]|[-•・*‧])\s*(\S.*?)\s*$", re.MULTILINE)
_MARK = re.compile(r"\s*[\[【［][0-9, 、]+[\]】］]")
_ORDINAL = re.compile(
    r"第([0-9一二三四五六七八九十]+)(?:個|个|種|种|項|项|點|点)|([0-9一二三四五六七八九])(?:つ目|番目)"
    r"|\b(first|second|third|fourth|fifth)\b|(最後|最后|\blast\b)"
)
_PLACES = {word: at for at, word in enumerate(("first", "second", "third", "fourth", "fifth"))}
_PLACES |= {digit: at for at, digit in enumerate("一二三四五六七八九十")}
_ITEM_CHARS = 40


def listed_item(rest: str, answer: str) -> str:
    """What 第二個, 2つ目 or "the second" names in a list of the last answer; "" if nothing."""
    ordinal = _ORDINAL.search(rest)
    items = [_MARK.sub("", item) for item in _LISTED.findall(answer)]
    if ordinal is None or not items:
        return ""
    if ordinal[4]:
        return items[-1][:_ITEM_CHARS]
    word = ordinal[1] or ordinal[2] or ordinal[3]
    at = int(word) - 1 if word.isdecimal() else _PLACES.get(word, len(items))
    return items[at][:_ITEM_CHARS] if 0 <= at < len(items) else ""
