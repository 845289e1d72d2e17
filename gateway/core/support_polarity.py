"""What turns a sentence round: a no in it, what that denies, and words that are opposites."""

import re
from collections.abc import Iterable

from gateway.core.matching import match_text


def any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """One pattern over folded text; the patterns hold no upper-case class (they are folded)."""
    return re.compile("|".join(map(match_text, patterns)))


# A no in form only: comparisons, duties said as a double no, words that happen to hold one.
_NO_IN_FORM = any_of(
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
_RESTRICTING = any_of(
    (
        *("でなければ[^、。]{0,12}(?:ない|ません)", "だけ(?!で)", "に?限[りる]", "しか", "のみ"),
        *("除非", "只有", "僅限", "只能", "才能?", r"\bunless\b", r"\bonly\b", r"\bexcept\b"),
        *("以外", "除了", r"\bother than\b", r"\bwithout\b"),
    )
)
_NO = any_of(
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
HAN_LETTERS = "\u4e00-\u9fff"

_ANSWER = r"\s*(?:a\b|答)?[\s.:]*"
_NO_ANSWER = re.compile(
    rf"{_ANSWER}(?:no\b|unfortunately|sorry|いいえ|申し訳|恐れ入り|あいにく|{match_text('不|否|很抱歉|抱歉|沒有')})"
)
_YES_ANSWER = re.compile(
    rf"{_ANSWER}(?:yes\b|はい|{match_text('可以|是的|會的|有')}"
    r"|[a-z ]{0,30}\b(?:may|can)\b(?! not))"
)

_WITHOUT = any_of((r"\bwithout\b", "なしで", "なくても", *("不必", "不需", "無須", "無需", "毋須")))
_DEMANDS = any_of((r"\bonly\b", r"\bmust\b", r"\brequire[sd]?\b", r"\bwith\b", "必要", "なければ"))
_PLAIN_NO = any_of(
    (r"\bnot\b", "n['’]t\\b", r"\bno\b", r"\bnever\b", r"\bcannot\b", "ません", "ない(?!で)")
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
    rf"(?:{match_text('得|可以|可|能|會|需要|需|須|必|予|再|准|應|有|要|使用|進行|提供|接受|適用|受理')})*"
    rf"([{HAN_LETTERS}]{{0,2}})"
    rf"|([{HAN_LETTERS}\u30a1-\u30fc]{{1,4}})(?:を|は|が|も|に)?[\u3041-\u309f]{{0,6}}?(?:ない|ません|なし|せず|ず(?=[、に]|$))"
)


def says_no(folded: str) -> bool:
    """A clause denies or forbids; "no later than" and the like do not."""
    return _NO.search(_NO_IN_FORM.sub(" ", folded)) is not None


def _restrictions(folded: str) -> frozenset[str]:
    """`only`, `unless`, `without`: with them a no may be a yes said otherwise."""
    return frozenset(_RESTRICTING.findall(folded))


def is_restricted(folded: str) -> bool:
    """It says `only` or the like."""
    return _RESTRICTING.search(folded) is not None


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
    denied, other = _denied(claim, clause)
    return not denied or any(_is_told(deed, other) for deed in denied)


def names_deed(claim: str, clause: str) -> bool:
    """Like that, and the deed has a name."""
    denied, other = _denied(claim, clause)
    return any(deed and _is_told(deed, other) for deed in denied)


def denies_alike(claim: str, clause: str) -> bool:
    """Both say no, and to the same deed."""
    return says_no(claim) and says_no(clause) and names_deed(claim, clause)


def _denied(claim: str, clause: str) -> tuple[list[str], str]:
    """What the one that says no denies, empty for a no alone, and the other one."""
    denying, other = (claim, clause) if says_no(claim) else (clause, claim)
    found = _DENIED.finditer(_NO_IN_FORM.sub(" ", denying))
    return [next(filter(None, match.groups()), "") for match in found], other


def _is_told(deed: str, other: str) -> bool:
    if deed.isascii():
        return deed[:_STEM] in other  # which an empty one is
    return any(letter in other for letter in deed)


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
