"""Who does what to whom: whether a sentence gives a deed to another party than its passage."""

import re
from collections.abc import Sequence

from gateway.core.matching import match_text
from gateway.core.support_polarity import HAN_LETTERS, any_of

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
        *(
            "新入社員",
            "provider",
            "contractor contractors",
            "visitor visitors guest guests",
            "member members",
            "税務署",
        ),
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
_BY = re.compile(rf"{match_text('由')}([{HAN_LETTERS}]{{2}})")
_SUBJECT = re.compile(rf"([{HAN_LETTERS}\u30a1-\u30fc]{{2,6}})が")
_PASSIVE = any_of(("被", "される", "された", "られ", r"\bby\b", "由", "受け"))
# letters of 由我們, 由買家 that tell nothing of who it is
_NO_NAME = frozenset(match_text("本我們貴公司方家者人自行該其部們"))
_PARTY_NAME = rf"(?:{_NAMES.pattern})"
_TO = (
    re.compile(
        rf"(?:{match_text('告知|通知|通報|報告|回報|提交|交給|付給|送交|退還')})({_PARTY_NAME})"
    ),
    re.compile(
        rf"({_PARTY_NAME}|[{HAN_LETTERS}]{{1,5}}[部課课])(?:へ|に)(?=[^、。]{{0,12}}(?:提出|報告|报告|連絡|连络|届|通知|支払|支付))"
    ),
    re.compile(rf"\b(?:to|tell|inform|notify) (?:the |an? )?({_PARTY_NAME})"),
    re.compile(rf"\bfrom (?:the |an? )?(?:vice )?({_PARTY_NAME})"),
    re.compile(rf"\bby (?:the |an? )?({_PARTY_NAME})"),
)


def party(name: str) -> int | str:
    """One value for all names of a party that is known here, the name itself for others."""
    return _PARTY.get(name, name)


def swaps(claim: str, clause: str) -> bool:
    """Two folded clauses about the same thing name other parties, or the same ones turned round."""
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


def _parties(folded: str) -> list[int]:
    return list(dict.fromkeys(_PARTY[match[0]] for match in _NAMES.finditer(folded)))
