"""Which encoding a text is in: marks first, then UTF-8, then a score over the whole file."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.extract.reading import refuse

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HIGH = bytes(range(0x80, 0x100))
_TIE = 0.12  # closer scores than this tell nothing
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_STRAY_NULS = 100  # one in so many bytes is dirt in a narrow text, not a wide one
_LEAST = 0.35  # below this it reads like noise in every encoding

# The most frequent characters of running text; a wrong decoding hits them by chance only.
_ZH_TW = (
    "的一是不了在有人我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家"
    "學對可她里後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見"
    "經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工"
    "己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教"
    "體繁簡假請員規章條應薪資料件單價格品項目保險勞職務"
)
_ZH_CN = (
    "的一是不了在有人我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家"
    "学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见"
    "经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工"
    "己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教"
    "体繁简假请员规章条应薪资料件单价格品项目保险劳职务"
)
_JA = (
    "のにはをたがでてとしれさいるあらすまもりなっかきくけこそちつとどねほみめやゆよわんだじ"
    "日本人大年一国会社語事業者時月中出分行部員休暇規則第条当合場定用上下同後前間方内外見"
    "東京都県市区町村番号電話住所氏名株式価格円税込商品注文送料申請書類給与勤務"
    "ーアイウエオカキクケコサシスセソタチツテトナニネノハフヘホマミムメモラリルレロワンドジプ"
)
_KO = (
    "이다는을의가에고하지한로도사시기자리어나은를들인으서대일해그수있정보전아것부제게라만상원장"
    "조주국동스과와세구성되었습니여무위소년월회문화개연용분경내방후직휴"
)
_PUNCTUATION = "、。，！？：；「」『』（）《》〈〉【】・…“”‘’　０１２３４５６７８９％～—"


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding with the characters that texts in it are mostly made of."""

    codec: str
    frequent: frozenset[str]
    has_kana: bool = False
    has_hangul: bool = False


_ALL = frozenset(_ZH_TW + _ZH_CN + _JA + _KO)
_CANDIDATES = (
    _Candidate("cp950", frozenset(_ZH_TW)),
    _Candidate("big5hkscs", frozenset(_ZH_TW)),
    _Candidate("gb18030", frozenset(_ZH_CN + _ZH_TW)),
    _Candidate("cp932", frozenset(_JA), has_kana=True),
    _Candidate("euc_jp", frozenset(_JA), has_kana=True),
    _Candidate("euc_kr", frozenset(_KO), has_hangul=True),
    _Candidate("cp949", frozenset(_KO), has_hangul=True),
    _Candidate("utf-16-le", _ALL, has_kana=True, has_hangul=True),
    _Candidate("utf-16-be", _ALL, has_kana=True, has_hangul=True),
)
_WIDE = tuple(candidate for candidate in _CANDIDATES if candidate.codec.startswith("utf-16"))
_NARROW = tuple(candidate for candidate in _CANDIDATES if candidate not in _WIDE)


def without_mark(data: bytes) -> tuple[bytes, str] | None:
    """(the rest, its codec) where a byte order mark tells the encoding."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :], codec
    return None


def non_ascii(data: bytes) -> int:
    """How many bytes ASCII does not have."""
    return len(data) - len(data.translate(None, _HIGH))


def decode(data: bytes) -> str:
    """The text. ExtractionError: `unsupported_format` for no text at all, `encoding_unknown`."""
    marked = without_mark(data)
    if marked is not None:
        return strict(*marked) or _unknown(data)
    if data.count(0) * _STRAY_NULS <= len(data):
        text = strict(data, "utf-8")
        if text is not None:
            return (b"\x1b$" in data and strict(data, "iso2022_jp")) or text
    return _best(data)


def _unknown(data: bytes) -> str:
    if not data.strip(b"\xff\xfe\xef\xbb\xbf\0"):
        return ""  # a mark and nothing after it
    raise refuse("encoding_unknown")


def _best(data: bytes) -> str:
    is_wide = data.count(0) * _STRAY_NULS > len(data)
    scored = sorted(_scored(data, _WIDE if is_wide else (*_NARROW, *_WIDE)), reverse=True)
    if not scored or scored[0][0] < _LEAST:
        raise refuse("unsupported_format" if _is_binary(data) else "encoding_unknown")
    best = scored[0]
    rival = next((score for score, text in scored if text != best[1]), 0.0)
    if best[0] - rival < _TIE:
        raise refuse("encoding_unknown")
    return best[1]


def _is_binary(data: bytes) -> bool:
    controls = sum(data.count(code) for code in range(32) if code not in b"\t\n\r\f\x1b")
    return controls * 50 > len(data)


def _scored(data: bytes, candidates: tuple[_Candidate, ...]) -> Iterator[tuple[float, str]]:
    has_big5 = False
    for candidate in candidates:
        if candidate.codec == "big5hkscs" and has_big5:
            continue  # both makers' tables fit; the first is the common one
        text = strict(data, candidate.codec)
        if text is not None:
            has_big5 = candidate.codec == "cp950" and _PRIVATE.search(text) is None
            yield _score(text, candidate), text
    text = strict(data, "cp1252")
    if text is not None and candidates is not _WIDE:
        yield _latin_score(text), text


def strict(data: bytes, codec: str) -> str | None:
    """The text, unless a byte of it can't be in that encoding."""
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _score(text: str, candidate: _Candidate) -> float:
    """How much each character that isn't ASCII looks like text, from -1 to 1, on average."""
    counts: dict[str, int] = {}
    for character in text:
        if character >= "\x80" or character < " ":
            counts[character] = counts.get(character, 0) + 1
    breaks = sum(counts.pop(character, 0) for character in "\t\n\r\f")
    total = sum(counts.values())
    if not total:  # UTF-16 of ASCII only
        return 1.0 if breaks or text.isprintable() else 0.0
    return sum(_worth(char, candidate) * n for char, n in counts.items()) / total


def _worth(character: str, candidate: _Candidate) -> float:
    if character in candidate.frequent or character in _PUNCTUATION:
        return 1.0
    if "\u4e00" <= character <= "\u9fff":
        is_korean_only = candidate.has_hangul and not candidate.has_kana
        return 0.0 if is_korean_only else _han(character, candidate)
    if "\u3041" <= character <= "\u30ff":
        return 0.9 if candidate.has_kana else -0.2
    if "\uac00" <= character <= "\ud7a3":
        return _hangul(character) if candidate.has_hangul else -0.5
    return 0.5 if "\uff01" <= character <= "\uff5e" else _rare(ord(character))


def _hangul(character: str) -> float:
    """Korean's national set has the 2,350 syllables in use; the other 8,800 are rare."""
    try:
        character.encode("euc_kr")
    except UnicodeEncodeError:
        return -0.5
    return 0.4


def _rare(code: int) -> float:
    if code < 0x20 or 0x80 <= code < 0xA0 or 0xE000 <= code <= 0xF8FF or code > 0xFFFF:
        return -1.0  # controls, private use, far planes
    return -0.3 if 0x2000 <= code <= 0x2FFF else -0.6  # symbols; other scripts, half-width kana


def _han(character: str, candidate: _Candidate) -> float:
    """Each national set puts its everyday characters into a first level; the rest is rare."""
    if candidate.codec.startswith("utf-16"):
        return 0.3
    lead = character.encode(candidate.codec, "replace")[0]
    low, high = _FIRST_LEVELS[candidate.codec]
    return 0.4 if low <= lead <= high else -0.3


_FIRST_LEVELS = {
    "cp950": (0xA4, 0xC6),
    "big5hkscs": (0xA4, 0xC6),
    "gb18030": (0xB0, 0xD7),
    "cp932": (0x88, 0x98),
    "euc_jp": (0xB0, 0xCF),
}


def _latin_score(text: str) -> float:
    """Western European: each accented letter stands in a word of plain letters."""
    good = total = 0
    for before, character, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if character < "\x80":
            continue
        total += 1
        is_in_word = any(c.isascii() and c.isalpha() for c in (before, after))
        good += character in "’“”–—…€" or (character.isalpha() and is_in_word)
    return good / total - 0.2 if total else 0.0
