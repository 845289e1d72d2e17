"""Wording that looks like an instruction to a model, found in folded text of three languages."""

import base64
import binascii
import re
from functools import cache

from gateway.core.matching import match_text as fold_text

# Only letters and digits of the folded text are looked at: blanks, zero-width characters,
# punctuation and markup between them are how such a sentence hides.
_NOISE = re.compile(r"[\W_]+")

_EARLIER_ZH = "(?:以上|上述|上面|之前|先前|此前|前面|前述|所有|全部|任何|原本|原有|系統|一切)"
_ORDERS_ZH = "(?:指示|指令|規則|規定|提示|命令|設定|限制|要求|對話)"
_DROP_ZH = "(?:忽略|無視|忘記|忘掉|忽視|不要理會|不必理會|不要遵守|不用遵守|覆蓋|略過|拋棄)"
_EARLIER_JA = (
    "(?:以上|上記|上の|これまで|今まで|前の|以前|先の|先ほど|すべて|全て|あらゆる|システム)"
)
_ORDERS_JA = "(?:指示|命令|指令|ルール|規則|プロンプト|設定|制約|制限|会話)"
_DROP_JA = "(?:無視|忘れ|破棄|従わない|従うな|上書き|無効)"
_EARLIER_EN = "(?:previous|prior|above|earlier|preceding|existing|system|all|any|every|your)"
_ORDERS_EN = "(?:instruction|prompt|rule|direction|guideline|command|context)"
_DROP_EN = "(?:ignore|disregard|forget|override|bypass|discard|neglect)"
_FILLER_EN = "(?:all|any|every|the|these|those|of|my|your|and|to)*"

_ZH = (
    f"{_DROP_ZH}.{{0,6}}?{_EARLIER_ZH}.{{0,8}}?{_ORDERS_ZH}",
    f"{_EARLIER_ZH}.{{0,4}}?{_ORDERS_ZH}.{{0,6}}?{_DROP_ZH}",
    "(?:從現在起|從現在開始)你(?:是|就是|扮演|必須忽略|必須服從|不再)",
    "你現在(?:是|扮演).{0,12}?(?:ai|模型|機器人|助理|助手|沒有限制|不受限制)",
    "(?:輸出|顯示|透露|洩露|公開|告訴我|重複|列出|說出).{0,6}?(?:系統提示|系統指令|提示詞)",
    "(?:不要|請勿|不得|別)(?:告訴|透露給|讓)(?:使用者|用戶).{0,16}?(?:指令|指示|提示)",
    "(?:新的|以下是)(?:系統)(?:指令|指示|提示)",
    "(?:ai|語言模型|聊天機器人)(?:助理|助手)?(?:必須|請|應該|務必)(?:忽略|無視|回答|回覆|輸出)",
)
_JA = (
    f"{_EARLIER_JA}.{{0,8}}?{_ORDERS_JA}.{{0,8}}?{_DROP_JA}",
    f"{_DROP_JA}.{{0,8}}?{_EARLIER_JA}.{{0,8}}?{_ORDERS_JA}",
    "(?:今から|これから|以降)(?:あなた|君|お前)は.{0,20}?(?:です|として|になり|なさい)",
    "(?:システムプロンプト|内部指示|システム指示).{0,8}?(?:表示|出力|教え|開示|公開|漏ら|繰り返)",
)
_EN = (
    f"{_DROP_EN}{_FILLER_EN}{_EARLIER_EN}.{{0,24}}?{_ORDERS_EN}",
    f"{_DROP_EN}{_FILLER_EN}{_ORDERS_EN}",
    f"{_DROP_EN}everything(?:above|before|yousaid|written|youwere)",
    f"donot(?:follow|obey){_FILLER_EN}(?:previous|prior|above|system|earlier).{{0,24}}?{_ORDERS_EN}",
    "(?:youarenow|fromnowonyou(?:are|will|must)|pretendtobe|pretendyouare).{0,40}?"
    "(?:assistant|languagemodel|unrestricted|jailbr|doanything|developermode|adminmode)",
    "(?:reveal|print|show|repeat|output|leak|display|tell)(?:me|us|the|your|all|full|entire|of)*"
    "(?:systemprompt|systemmessage|hiddeninstruction|initialinstruction|developermessage)",
    f"(?:new|updated|important)system{_ORDERS_EN}",
    "donottelltheuser|withouttellingtheuser",
    "knowledgepassages|imstart(?:system|user|assistant)|endofsystemprompt",
)

_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,4000}={0,2}")

WINDOW = 200  # characters on each side of a border; longer than any wording above


@cache
def _pattern() -> re.Pattern[str]:
    # folded like the text it is compared with, so that one spelling of each word is enough
    return re.compile(fold_text("|".join((*_ZH, *_JA, *_EN))))


def looks_like_instruction(match_text: str) -> bool:
    """Whether a folded text (core/matching.py) holds such wording, quoted or meant.

    A handbook that warns of these sentences is flagged as well: a flagged passage stays
    searchable and is only never put into a prompt unasked (FEATURES A11, A15).
    """
    return _pattern().search(_NOISE.sub("", match_text)) is not None


def hides_instruction(text: str) -> bool:
    """The same for what base64 in the original text says; folding would have destroyed it."""
    return any(
        looks_like_instruction(fold_text(said)) for said in map(_decoded, _BASE64.findall(text))
    )


def _decoded(run: str) -> str:
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""  # a key, a hash or a long word
