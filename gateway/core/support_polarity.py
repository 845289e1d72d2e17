"""What turns a sentence round: a no in it, or the one who acts."""

import re
from collections.abc import Iterable, Sequence

from gateway.core.matching import match_text


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    """One pattern over folded text; the patterns hold no upper-case class (they are folded)."""
    return re.compile("|".join(map(match_text, patterns)))


# A no in form only: comparisons, duties said as a double no, words that happen to hold one.
_NO_IN_FORM = _any(
    (
        *("不得?少於", "不得?低於", "不得?超過", "不得?高於", "不得?多於", "不得不", "不足"),
        *("不但", "不僅", "不只", "不過", "不論", "無論", "不同", "不久", "不妨", "不然", "不見"),
        *(
            "不小心",
            "不慎",
            "未滿",
            "未達",
            "非常",
            "是否",
            "要不要",
            "能不能",
            "可不可以",
            "會不會",
        ),
        "非人為",
        "[未沒][^,。、]{0,6}(?=就|則|即)",
        *("[未沒][經有]?[^,。、]{0,5}[之的者時]", "不用錢", "不收費", "免費"),
        *("なければな(?:らない|らず|りません)", "なければいけ(?:ない|ません)"),
        *("なくてはな(?:らない|らず|りません)", "なくてはいけ(?:ない|ません)"),
        *("ないと(?:いけない|いけません|なりません)", "ざるを得(?:ない|ません)"),
        *("か?まいません", "か?まわない", "構いません", "構わない", "差し支え(?:ない|ありません)"),
        "(?:ない|なかった)(?:場合|とき|時|限り|と|ので|ため|方)",
        *(
            "なければ",
            "なくても",
            "だけで(?:は)?なく",
            "問題ありません",
            "問題ない",
            "かもしれ(?:ない|ません)",
            "限りません",
        ),
        *("少ない", "少なく", "未満", "不良", "すみません", "危ない"),
        *("no later than", "not later than", "no more than", "not more than", "no longer than"),
        *("no less than", "not less than", "no fewer than", "not exceed[a-z]*", "not only"),
        r"\b(?:if|when|who|where)\b[^,;.]{0,30}?(?:n['’]t|\bnot)\b",
        *("at no cost", r"\bno\.", "whether or not"),
    )
)
_RESTRICTING = _any(
    (
        *("でなければ[^、。]{0,12}(?:ない|ません)", "だけ(?!で)", "に?限[りる]", "しか", "のみ"),
        *("除非", "只有", "僅限", "只能", "才能?", r"\bunless\b", r"\bonly\b", r"\bexcept\b"),
        *("以外", "除了", r"\bother than\b", r"\bwithout\b"),
    )
)
_NO = _any(
    (
        *("不", "無(?!線)", "未", "禁止", "勿", "沒", "除外", "拒絕", "免(?=付|檢|附|除)", "恕"),
        *(
            "ない",
            "ません",
            "なし",
            "できず",
            "せず",
            "ずに",
            r"[わかさたならばえけせめれべ]ず$",
            "対象外",
            "禁じ",
            "断[らりるっ]",
        ),
        *(r"\bnot\b", "n['’]t\\b", r"\bno\b", r"\bnever\b", r"\bcannot\b"),
        *(
            r"\bnor\b",
            r"\bneither\b",
            r"\bnone\b",
            r"\bnobody\b",
            r"\bno one\b",
            r"\bnon-?",
            r"\bexclud[a-z]+",
            r"\bunable\b",
        ),
        *(r"\bineligible\b", r"\bprohibit[a-z]*", r"\bavoid[a-z]*", r"\bforbid[a-z]*"),
    )
)

# parties that a rule binds, one a line under all its names
_PARTIES = tuple(
    tuple(map(match_text, line.split()))
    for line in (
        "員工 同仁 従業員 社員 employees employee staff",
        "本公司 公司 会社 当社 company",
        "主管 主任 上司 上長 所属長 managers manager supervisor",
        "消費者 客戶 顧客 お客様 customer customers client",
        "供應商 廠商 賣方 supplier vendor seller",
        "買方 買家 buyer purchaser",
        "申請單位 申請人",
        *("採購部", "資訊部 情報システム部", "人資部 人事部", "財務部 経理部", "行政部 総務部"),
        *("法務部", "工程部", "總經理", "財務長", "董事會 董事長 取締役会", "部長", "課長", "社長"),
        *("新入社員", "provider", "contractor contractors", "visitor visitors", "税務署"),
        *("甲方", "乙方", "房東 出租人 貸主 landlord", "房客 承租人 借主 tenant"),
        *("lender", "borrower", "employer", "president"),
    )
)
_PARTY = {name: number for number, names in enumerate(_PARTIES) for name in names}
_NAMES = re.compile(
    "|".join(
        rf"\b{name}\b" if name.isascii() else name for name in sorted(_PARTY, key=len, reverse=True)
    )
)
_LETTERS = "\u4e00-\u9fff"
_LEADER = match_text("長(?![度さい年期短袖大途])|總監")
_POST = re.compile(
    rf"[{_LETTERS}]{{1,5}}(?:(?<![延成增特身波全社家最邊辺很更])(?:{_LEADER})|{match_text('經理')})"
)
_OFFICE = re.compile(
    rf"[{_LETTERS}]{{1,5}}(?:(?<![全内外一各本該])部|{match_text('處|署|委員會')}|{match_text('課')}(?=[ぁ-ん]))"
)
_BY = re.compile(rf"{match_text('由')}([{_LETTERS}]{{2}})")
_SUBJECT = re.compile(rf"([{_LETTERS}\u30a1-\u30fc]{{2,6}})が")
_PASSIVE = _any(("被", "される", "された", "られ", r"\bby\b", "由", "受け"))

_ANSWER = r"\s*(?:a\b|答)?[\s.:]*"
_NO_ANSWER = re.compile(
    rf"{_ANSWER}(?:no\b|unfortunately|sorry|いいえ|申し訳|恐れ入り|あいにく|{match_text('不|否|很抱歉|抱歉|沒有')})"
)
_YES_ANSWER = re.compile(rf"{_ANSWER}(?:yes\b|はい|{match_text('可以|是的|會的|可。|能。')})")
_WITHOUT = _any((r"\bwithout\b", "なしで", "なくても", *("不必", "不需", "無須", "無需", "毋須")))
_DEMANDS = _any((r"\bonly\b", r"\bmust\b", r"\brequire[sd]?\b", r"\bwith\b", "必要", "なければ"))
_PLAIN_NO = _any(
    (r"\bnot\b", "n['’]t\\b", r"\bno\b", r"\bnever\b", r"\bcannot\b", "ません", "ない(?!で)")
)
# letters of 由我們, 由買家 that tell nothing of who it is
_NO_NAME = frozenset(match_text("本我們貴公司方家者人自行該其部們"))
_PARTY_NAME = rf"(?:{_NAMES.pattern})"
_TO = (
    re.compile(
        rf"(?:{match_text('告知|通知|通報|報告|回報|提交|交給|付給|送交|退還')})({_PARTY_NAME})"
    ),
    re.compile(
        rf"({_PARTY_NAME}|[{_LETTERS}]{{1,5}}[部課课])(?:へ|に)(?=[^、。]{{0,12}}(?:提出|報告|报告|連絡|连络|届|通知|支払|支付))"
    ),
    re.compile(rf"\b(?:to|tell|inform|notify) (?:the |an? )?({_PARTY_NAME})"),
    re.compile(rf"\bfrom (?:the |an? )?(?:vice )?({_PARTY_NAME})"),
)

_STEM = 4  # letters by which an English verb is known in its other forms
_MODAL = (
    "be|been|being|have|has|get|ever|also|allowed|permitted|able|to|may|can|will|must|the|a|an|any|"
    "yet|usually|normally|required|need|needed|necessary|you|is|are|was|do|does|and|for|in|of|at"
)
# a no and what it denies: after it in English and Chinese, before it in Japanese
_DENIED = re.compile(
    rf"(?:\bnot|n['’]t|\bnever|\bcannot)(?: (?:{_MODAL})\b)*(?: ([a-z]{{3,}}))?"
    rf"|(?:{match_text('不|未|嚴禁|禁止|勿|沒')})"
    rf"(?:{match_text('得|可以|可|能|會|需要|需|須|必|予|再|准|應|有|要|使用|進行|提供')})*"
    rf"([{_LETTERS}]{{0,2}})"
    rf"|([{_LETTERS}\u30a1-\u30fc]{{1,4}})(?:を|は|が|も|に)?[\u3041-\u309f]{{0,6}}?(?:ない|ません|なし|せず|ず(?=[、に]|$))"
)


def says_no(folded: str) -> bool:
    """A clause denies or forbids; "no later than" and the like do not."""
    return _NO.search(_NO_IN_FORM.sub(" ", folded)) is not None


def _restrictions(folded: str) -> frozenset[str]:
    """`only`, `unless`, `without`: with them a no may be a yes said otherwise."""
    return frozenset(_RESTRICTING.findall(folded))


def is_answered(answer: str) -> bool:
    """The answer begins with a yes or a no."""
    return bool(_YES_ANSWER.match(answer) or _NO_ANSWER.match(answer))


def contradicts_answer(claim: str, answer: str) -> bool:
    """A claim about what was asked says no where the answer begins with yes, or the reverse."""
    if says_no(claim):
        return _YES_ANSWER.match(answer) is not None
    return _NO_ANSWER.match(answer) is not None


def is_of_one_deed(claim: str, clause: str) -> bool:
    """What one of the two denies is spoken of in the other: "not let in" says nothing against
    "turned away". A no without a deed of its own (不可, "not allowed") denies anything.
    """
    denying, other = (claim, clause) if says_no(claim) else (clause, claim)
    denied = list(_DENIED.finditer(_NO_IN_FORM.sub(" ", denying)))
    return not denied or any(_is_told(match, other) for match in denied)


def _is_told(denied: re.Match[str], other: str) -> bool:
    deed = next(filter(None, denied.groups()), "")
    if deed.isascii():
        return deed[:_STEM] in other
    return not deed or any(letter in other for letter in deed)


def waives(claim: str, clause: str) -> bool:
    """The claim does without what the clause demands: `without consent`, `only with consent`."""
    if not _WITHOUT.search(claim) or _WITHOUT.search(clause) or _PLAIN_NO.search(claim):
        return False
    return _DEMANDS.search(clause) is not None


def contradicts(claim: str, clause: str) -> bool:
    """One of two folded clauses about the same thing says no, the other yes."""
    told, said = _restrictions(claim), _restrictions(clause)
    if (told or said) and told.isdisjoint(said):
        return False
    return says_no(claim) != says_no(clause)


def swaps(claim: str, clause: str) -> bool:
    """Two folded clauses about the same thing name other parties, or the same ones turned round."""
    if _names_other(claim, clause):
        return True
    if _has_other_subject(claim, clause):
        return True
    told, said = _parties(claim), _parties(clause)
    if not told or not said:
        return False
    if set(told).isdisjoint(said):
        return True
    both = [party for party in told if party in said]
    turned = [party for party in said if party in told]
    return both != turned and is_alike_passive(claim, clause)


def is_alike_passive(claim: str, clause: str) -> bool:
    """Both say who does it in the same way, so that the order of names tells the same."""
    return bool(_PASSIVE.search(claim)) == bool(_PASSIVE.search(clause))


def is_done_by_other(claim: str, clauses: Sequence[str]) -> bool:
    """由人資部分配 where the passage says 由經理分配: another one does the same thing."""
    done = claim.rstrip()[-2:]
    same = [each for each in clauses if each.rstrip().endswith(done) and _BY.search(each)]
    names = [set(name) - _NO_NAME for name in _BY.findall(claim)]
    return bool(same) and any(
        name and all(name.isdisjoint(each) for each in same) for name in names
    )


def is_given_to_other(claim: str, clause: str) -> bool:
    """Two clauses about the same thing name other ones who are told, paid or handed something."""
    for pattern in _TO:
        told, said = (
            {_PARTY.get(name, name) for name in pattern.findall(each)} for each in (claim, clause)
        )
        if told and said and told.isdisjoint(said):
            return True
    return False


def _has_other_subject(claim: str, clause: str) -> bool:
    """由甲方負擔 against 由乙方負擔, 会社が against 受講者が."""
    for pattern in (_BY, _SUBJECT):
        told = [set(name) - _NO_NAME for name in pattern.findall(claim)]
        if (
            told
            and pattern.search(clause)
            and all(name and name.isdisjoint(clause) for name in told)
        ):
            return True
    return False


def _names_other(claim: str, clause: str) -> bool:
    """The claim names a post or an office, and the clause names one of that kind, but another."""
    for kind in (_POST, _OFFICE):
        told = [match[0] for match in kind.finditer(claim)]
        said = {letter for match in kind.finditer(clause) for letter in match[0]}
        if told and said and not any(said.issuperset(name[-3:]) for name in told):
            return True
    return False


def _parties(folded: str) -> list[int]:
    return list(dict.fromkeys(_PARTY[match[0]] for match in _NAMES.finditer(folded)))
