"""The formats that have a number only (ECMA-376 part 1, 18.8.30), as each region's Excel has them.

A workbook does not say where it was made; the fonts of its cells do.
"""

import re
from collections.abc import Iterable

_EVERYWHERE = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)', 6: '"$"#,##0_);("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)', 8: '"$"#,##0.00_);("$"#,##0.00)',
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "m/d/yyyy",
    15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM",
    20: "h:mm", 21: "h:mm:ss", 22: "m/d/yyyy h:mm",
    37: "#,##0_);(#,##0)", 38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)", 40: "#,##0.00_);(#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
    42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)',
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
_DATE_OR_TIME = "[<1]h:mm:ss;yyyy/m/d"  # what these mean differs from region to region
_ELSEWHERE = {
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "yyyy/m/d"),
    32: "h:mm", 33: "h:mm:ss", **dict.fromkeys((34, 35, 55, 56), _DATE_OR_TIME),
}  # fmt: skip


_REGIONS: dict[str, dict[str, tuple[int, ...]]] = {
    "zh-TW": {
        "yyyy/m/d": (14,), "yyyy/m/d h:mm": (22,), "m/d/yy": (30,),
        "[$-404]e/m/d": (27, 36, 50, 57), '[$-404]e"年"m"月"d"日"': (28, 29, 51, 54, 58),
        'yyyy"年"m"月"d"日"': (31,), 'hh"時"mm"分"': (32,), 'hh"時"mm"分"ss"秒"': (33,),
        '上午/下午hh"時"mm"分"': (34, 52, 55), '上午/下午hh"時"mm"分"ss"秒"': (35, 53, 56),
    },
    "zh-CN": {
        "yyyy/m/d": (14,), "yyyy/m/d h:mm": (22,), "m-d-yy": (30,),
        'yyyy"年"m"月"': (27, 36, 50, 52, 57), 'm"月"d"日"': (28, 29, 51, 53, 54, 58),
        'yyyy"年"m"月"d"日"': (31,), 'h"时"mm"分"': (32,), 'h"时"mm"分"ss"秒"': (33,),
        '上午/下午h"时"mm"分"': (34, 55), '上午/下午h"时"mm"分"ss"秒"': (35, 56),
    },
    "ja": {
        "yyyy/m/d": (14,), "yyyy/m/d h:mm": (22,), "m/d/yy": (30,),
        "[$-411]ge.m.d": (27, 36, 50, 57), '[$-411]ggge"年"m"月"d"日"': (28, 29, 51, 54, 58),
        'yyyy"年"m"月"d"日"': (31,), 'h"時"mm"分"': (32,), 'h"時"mm"分"ss"秒"': (33,),
        'yyyy"年"m"月"': (34, 52, 55), 'm"月"d"日"': (35, 53, 56),
    },
    "ko": {
        "yyyy-mm-dd": (14, 34, 35, 52, 53, 55, 56), "yyyy-mm-dd h:mm": (22,), "mm-dd-yy": (30,),
        'yyyy"年" mm"月" dd"日"': (27, 36, 50, 57), "mm-dd": (28, 29, 51, 54, 58),
        'yyyy"년" mm"월" dd"일"': (31,), 'h"시" mm"분"': (32,), 'h"시" mm"분" ss"초"': (33,),
    },
}  # fmt: skip
_BUILTIN = {
    region: {number: code for code, numbers in codes.items() for number in numbers}
    for region, codes in _REGIONS.items()
}
_CHARSETS = {128: "ja", 129: "ko", 134: "zh-CN", 136: "zh-TW"}
_FONTS = (
    (re.compile(r"明體|標楷|正黑|細明|JhengHei|MingLiU", re.IGNORECASE), "zh-TW"),
    (re.compile(r"宋体|等线|雅黑|黑体|楷体|仿宋|SimSun|YaHei|DengXian", re.IGNORECASE), "zh-CN"),
    (
        re.compile(
            r"ゴシック|明朝|メイリオ|Meiryo|MS P?(?:Gothic|Mincho)|Yu Gothic", re.IGNORECASE
        ),
        "ja",
    ),
    (re.compile(r"[가-힣]|Malgun|Gulim|Batang", re.IGNORECASE), "ko"),
)
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_KANA = re.compile(r"[ぁ-ヿ]")


def builtin_code(number: int, region: str) -> str:
    """The code of a format's number; General where there is none."""
    own = _BUILTIN.get(region, _ELSEWHERE).get(number)
    return own or _EVERYWHERE.get(number, "General")


def region_of(fonts: Iterable[tuple[str, int]], names: Iterable[str]) -> str:
    """zh-TW, zh-CN, ja, ko, or "": by (name, character set) of the fonts, else by sheet names."""
    for name, charset in fonts:
        known = _CHARSETS.get(charset)
        found = known or next((region for letters, region in _FONTS if letters.search(name)), "")
        if found:
            return found
    together = " ".join(names)
    if _KANA.search(together):
        return "ja"
    return "zh-TW" if _HAN.search(together) else ""
