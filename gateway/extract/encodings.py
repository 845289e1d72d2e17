"""Which encoding a text is in: marks first, then UTF-8, then a score over the whole file."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping
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
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f]")
_PLAIN = re.compile("[\x20-\x7f]+")
_STRAY_NULS = 100  # one in so many bytes is dirt in a narrow text, not a wide one
_LEAST = 0.35  # below this it reads like noise in every encoding

# The most frequent characters of running text; a wrong decoding hits them by chance only.
_ZH_TW = (
    "的一是不了在有人我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家"
    "學對可她里後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見"
    "經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工"
    "己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教"
    "體繁簡假請員規章條應薪資料件單價格品項目保險勞職務及其於與或由被將包括使各類立位年月市路公司"
    "南北縣區省京山河江州線站台機車場院校館隊球賽軍戰王朝代世紀英美法德語音樂電影視演播放網技術科研"
    "究系統計算期間第元人數量號碼號信郵址聯絡電話表單填寫簽核准申請付款交通費"
)
_ZH_CN = (
    "的一是不了在有人我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家"
    "学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见"
    "经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工"
    "己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教"
    "体繁简假请员规章条应薪资料件单价格品项目保险劳职务及其于与或由被将包括使各类立位年月市路公司"
    "南北县区省京山河江州线站台机车场院校馆队球赛军战王朝代世纪英美法德语音乐电影视演播放网技术科研"
    "究系统计算期间第元人数量号码信邮址联络电话表单填写签核准申请付款交通费"
)
_JA = (
    "のにはをたがでてとしれさいるあらすまもりなっかきくけこそちつとどねほみめやゆよわんだじ"
    "日本人大年一国会社語事業者時月中出分行部員休暇規則第条当合場定用上下同後前間方内外見"
    "東京都県市区町村番号電話住所氏名株式価格円税込商品注文送料申請書類給与勤務"
    "ーアイウエオカキクケコサシスセソタチツテトナニネノハフヘホマミムメモラリルレロワンドジプ"
)
_KO = (
    "이다는을의가에고하지한로도사시기자리어나은를들인으서대일해그수있정보전아것부제게라만상원장"
    "조주국동스과와세구성되었습니여무위소년월회문화개연용분경내방후직휴간각감강같거건결계공관교금급"
    "까날남너년녀노능니단달당드든등디따때또량력련령록론료류르른름리립마말매며면명모목못물미민바반받"
    "발백번법변별본불비생서선설소속손술신실심십안야약양업없역영예오외요우운육음입작재저적점접정족존종"
    "중즉증진질집찰책처천청체초총최추출치칙크타탁터통투트특판팀편평포표품프필학함합항행험현형호환활황"
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
    _Candidate("utf-32-le", _ALL, has_kana=True, has_hangul=True),
    _Candidate("utf-32-be", _ALL, has_kana=True, has_hangul=True),
)
_WIDE = tuple(candidate for candidate in _CANDIDATES if candidate.codec.startswith("utf-"))
_JAPANESE = tuple(candidate for candidate in _CANDIDATES if candidate.codec in {"cp932", "euc_jp"})
_HANJA = -0.2  # Chinese characters in Korean text are rare by now
_KANA_DUE = 8  # different characters
_KANA_MISSED = 0.15
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
            return (b"\x1b$" in data and _escaped(data)) or text
    return _best(data)


def _escaped(data: bytes) -> str | None:
    """Japanese or Korean of seven bits."""
    codec = "iso2022_kr" if b"\x1b$)C" in data else "iso2022_jp"
    return strict(data, codec) or strict(data, "iso2022_jp_ext")


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
        return data.decode(codec, _MAKERS_ROWS if codec == "euc_jp" else "strict")
    except UnicodeDecodeError:
        return None


def _makers_row(error: UnicodeError) -> tuple[str, int]:
    """NEC's and IBM's characters (①, ㈱, 髙) in EUC-JP, which only Shift-JIS has a table for."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    high, low = error.object[error.start : error.start + 2].ljust(2, b"\0")
    row, cell = high - 0xA0, low - 0xA0
    if row not in _ROWS or cell not in range(1, 95):
        raise error
    lead = (row - 1) // 2 + (0x81 if row < 63 else 0xC1)
    trail = cell + (0x9E if row % 2 == 0 else 0x3F + (cell > 63))
    try:
        return bytes((lead, trail)).decode("cp932"), error.start + 2
    except UnicodeDecodeError:
        raise error from None


_ROWS = frozenset({13, *range(89, 93)})
_MAKERS_ROWS = "eucjp-makers-rows"
codecs.register_error(_MAKERS_ROWS, _makers_row)


def _score(text: str, candidate: _Candidate) -> float:
    """How much each character that isn't ASCII looks like text, from -1 to 1, on average."""
    counts = Counter(_PLAIN.sub("", text))
    breaks = sum(counts.pop(character, 0) for character in "\t\n\r\f")
    total = sum(counts.values())
    if not total:  # UTF-16 of ASCII only
        return 1.0 if breaks or text.isprintable() else 0.0
    worth = sum(_worth(char, candidate) * n for char, n in counts.items()) / total
    return worth - _KANA_MISSED if _misses_kana(counts, candidate) else worth


def _misses_kana(counts: Mapping[str, int], candidate: _Candidate) -> bool:
    """Running text in Japanese is never of Chinese characters alone."""
    if candidate not in _JAPANESE or len(counts) < _KANA_DUE:
        return False
    return not any("\u3041" <= character <= "\u30ff" for character in counts)


def _worth(character: str, candidate: _Candidate) -> float:
    if character in candidate.frequent or character in _PUNCTUATION:
        return 1.0
    if "\u4e00" <= character <= "\u9fff":
        is_korean_only = candidate.has_hangul and not candidate.has_kana
        return _HANJA if is_korean_only else _han(character, candidate)
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
    return 0.25


def _rare(code: int) -> float:
    if code < 0x20 or 0x80 <= code < 0xA0 or 0xE000 <= code <= 0xF8FF or code > 0xFFFF:
        return -1.0  # controls, private use, far planes
    return -0.3 if 0x2000 <= code <= 0x2FFF else -0.6  # symbols; other scripts, half-width kana


def _han(character: str, candidate: _Candidate) -> float:
    """Each national set puts its everyday characters into a first level; the rest is rare."""
    if candidate in _WIDE:
        return 0.3
    lead = character.encode(candidate.codec, "replace")[0]
    low, high = _FIRST_LEVELS[candidate.codec]
    if low <= lead <= high:
        return 0.4
    # traditional characters have no level of their own in the set of the simplified ones
    return 0.3 if candidate.codec == "gb18030" and _is_everyday_big5(character) else -0.3


def _is_everyday_big5(character: str) -> bool:
    low, high = _FIRST_LEVELS["cp950"]
    return low <= character.encode("cp950", "replace")[0] <= high


_FIRST_LEVELS = {
    "cp950": (0xA4, 0xC6),
    "big5hkscs": (0xA4, 0xC6),
    "gb18030": (0xB0, 0xD7),
    "cp932": (0x88, 0x98),
    "euc_jp": (0xB0, 0xCF),
}


def _latin_score(text: str) -> float:
    """Western European: each accented letter stands in a word of plain letters."""
    total = len(text) - len(_NOT_ASCII.sub("", text))
    is_mostly_ascii = total * 3 <= len(text)
    if not total or not is_mostly_ascii or _CONTROL.search(text):
        return 0.0
    return sum(1 for _ in _ACCENTED.finditer(text)) / total - 0.2


_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_LETTER = r"[^\W\d_\x00-\x7f]"
_ACCENTED = re.compile(rf"[’“”–—…€]|(?<=[A-Za-z]){_LETTER}|{_LETTER}(?=[A-Za-z])")
