"""Number formats: what a cell shows, against what Excel shows."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.extract.number_formats import number_format
from gateway.extract.number_formats_builtin import builtin_code, region_of

DAY = 46_024  # 2026-01-02, a Friday
SHOWN = [
    # General: eleven characters, no noise of binary fractions
    ("General", 0, "0"),
    ("General", 0.1 + 0.2, "0.3"),
    ("General", 1 / 3, "0.333333333"),
    ("General", -1 / 3, "-0.333333333"),
    ("General", math.pi, "3.141592654"),
    ("General", 1234567.891234, "1234567.891"),
    ("General", 12345678901, "12345678901"),
    ("General", 123456789012, "1.23457E+11"),
    ("General", 1e-5, "0.00001"),
    ("General", 1.23456789e-7, "1.23457E-07"),
    ("General", 1e300, "1E+300"),
    # decimals and thousands
    ("0", 1234.5, "1235"),
    ("0", 0.4, "0"),
    ("0.00", 1.005, "1.01"),
    ("0.00", -2.345, "-2.35"),
    ("0.0#", 1.5, "1.5"),
    ("0.##", 5, "5."),
    ("#.##", 0.5, ".5"),
    ("#", 0, ""),
    ("00000", 42, "00042"),
    ("#,##0", 1234567, "1,234,567"),
    ("#,##0", 12, "12"),
    ("#,##0.00", -1234.5, "-1,234.50"),
    ("0,000", 5, "0,005"),
    ("???.???", 1.5, "1.5"),
    ("#,##0,", 1234567, "1,235"),
    ('0.0,,"M"', 12_500_000, "12.5M"),
    ("000-00-0000", 123456789, "123-45-6789"),
    ("(###) ###-####", 8005551234, "(800) 555-1234"),
    ("0", 1e20, "100000000000000000000"),
    # percent
    ("0%", 0.1, "10%"),
    ("0%", 0.075, "8%"),
    ("0.0%", 0.075, "7.5%"),
    ("0.00%", -0.12345, "-12.35%"),
    # money and accounting
    ('"$"#,##0.00', 1234.5, "$1,234.50"),
    ("$#,##0.00", 1234.5, "$1,234.50"),
    ("[$NT$-404]#,##0", 1234, "NT$1,234"),
    ("[$¥-411]#,##0", 1234, "¥1,234"),
    ("#,##0.00 [$€-407]", 1.5, "1.50 €"),
    ('_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', 1234.5, "$1,234.50"),
    ('_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', -1234.5, "$(1,234.50)"),
    ('_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', 0, "$-"),
    ("#,##0_);[Red](#,##0)", -5, "(5)"),
    # literals
    ('#,##0" M"', 12_500_000, "12,500,000 M"),
    ('0"天"', 3, "3天"),
    (r"0\d", 3, "3d"),
    (r"\$0\ \m", 3, "$3 m"),
    ('General" 元"', 12.5, "12.5 元"),
    ('"固定"', 3, "固定"),
    # sections and conditions
    ("0;-0;", 0, ""),
    ("0.0;0.0", -2, "2.0"),
    ('0;(0);"零"', 0, "零"),
    ("[Blue]0;[Color 3]-0", -7, "-7"),
    ('[>=100]"大"0;[<0]"負"0;"小"0', 150, "大150"),
    ('[>=100]"大"0;[<0]"負"0;"小"0', -5, "負5"),
    ('[>=100]"大"0;[<0]"負"0;"小"0', 5, "小5"),
    ("[<1]0.00%;0", 0.5, "50.00%"),
    ("[<1]0.00%;0", 2, "2"),
    ("[>100]0;0.0", -5, "-5.0"),
    # fractions and powers
    ("# ?/?", 1.5, "1 1/2"),
    ("# ?/?", 0.5, "1/2"),
    ("# ?/?", 3, "3"),
    ("# ??/??", 3.14159, "3 1/7"),
    ("?/?", 1.25, "5/4"),
    ("# ?/8", 2.26, "2 2/8"),
    ("# ?/2", 1.99, "2"),
    ("0.00E+00", 12345, "1.23E+04"),
    ("0.00E+00", 0.00012, "1.20E-04"),
    ("0E-0", 12345, "1E4"),
    ("##0.0E+0", 12345, "12.3E+3"),
    ("0.00E+00", 9.999, "1.00E+01"),
    # dates
    ("yyyy-mm-dd", DAY, "2026-01-02"),
    ("yyyy/m/d", DAY, "2026/1/2"),
    ("yy.mm.dd", DAY, "26.01.02"),
    ("d-mmm-yy", DAY, "2-Jan-26"),
    ("dddd, mmmm d, yyyy", DAY, "Friday, January 2, 2026"),
    ("ddd mmmmm", DAY, "Fri J"),
    ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", DAY, "Friday, January 02, 2026"),
    ('yyyy"年"m"月"d"日"', DAY, "2026年1月2日"),
    ("[$-404]e/m/d", DAY, "115/1/2"),
    ('[$-404]ggge"年"m"月"d"日"', DAY, "中華民國115年1月2日"),
    ("[$-404]aaaa", DAY, "星期五"),
    ('[$-411]ggge"年"m"月"d"日"', DAY, "令和8年1月2日"),
    ("[$-411]ge.m.d", 32_516, "H1.1.8"),
    ("[$-411]ge.m.d", 32_515, "S64.1.7"),
    ('[$-ja-JP-x-gannen]ggge"年"', 43_586, "令和1年"),
    ("[$-411]m/d(aaa)", DAY, "1/2(金)"),
    ("[$-804]yyyy年m月d日 dddd", DAY, "2026年1月2日 星期五"),
    ("yyyy-mm-dd", 60, "1900-02-29"),
    ("yyyy-mm-dd", 1, "1900-01-01"),
    ("yyyy-mm-dd", 2_958_465, "9999-12-31"),
    ("yyyy-mm-dd", 2_958_466, "2958466"),
    ("yyyy-mm-dd", -1, "-1"),
    # times and durations
    ("h:mm", 0.75, "18:00"),
    ("hh:mm:ss", 0.5 + 1 / 86_400, "12:00:01"),
    ("h:mm AM/PM", 0.75, "6:00 PM"),
    ("h:mm AM/PM", 0, "12:00 AM"),
    ("[$-404]AM/PM h:mm", 0.75, "下午 6:00"),
    ('上午/下午hh"時"mm"分"', 0.25, "上午06時00分"),
    ("[h]:mm", 1.5, "36:00"),
    ("[mm]:ss", 0.5, "720:00"),
    ("[s]", 0.001, "86"),
    ("mm:ss.0", 0.0012345, "01:46.7"),
    ("ss.00", 1.25 / 86_400, "01.25"),
    ("m/d/yyyy h:mm", DAY + 0.5, "1/2/2026 12:00"),
    ("yyyy-mm-dd hh:mm:ss", DAY + 0.9999999, "2026-01-03 00:00:00"),
]


@pytest.mark.parametrize(("code", "value", "shown"), SHOWN)
def test_a_number_shows_as_in_excel(code: str, value: float, shown: str) -> None:
    assert number_format(code).number(value) == shown


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('0;0;0;"["@"]"', "[茶]"),
        ('@"元"', "茶元"),
        ('0;-0;;@" 先生"', "茶 先生"),
    ],
)
def test_a_section_for_text_surrounds_it(code: str, shown: str) -> None:
    text = number_format(code).text
    assert text is not None
    assert text("茶") == shown


def test_text_stands_as_it_is_where_no_section_is_for_it() -> None:
    assert number_format("0.00").text is None
    assert number_format("@").text is None


def test_three_semicolons_show_nothing_at_all() -> None:
    hidden = number_format(";;;")
    assert hidden.is_invisible
    assert hidden.number(5) == ""
    assert not number_format("0;;").is_invisible


@pytest.mark.parametrize(
    ("serial", "shown"), [(0, "1904-01-01"), (1, "1904-01-02"), (35_064, "2000-01-01")]
)
def test_the_other_epoch_counts_from_1904(serial: int, shown: str) -> None:
    assert number_format("yyyy-mm-dd", is_1904=True).number(serial) == shown


@pytest.mark.parametrize(
    ("number", "region", "value", "shown"),
    [
        (14, "", DAY, "1/2/2026"),
        (14, "zh-TW", DAY, "2026/1/2"),
        (14, "ko", DAY, "2026-01-02"),
        (22, "ja", DAY + 0.5, "2026/1/2 12:00"),
        (27, "zh-TW", DAY, "115/1/2"),
        (28, "ja", DAY, "令和8年1月2日"),
        (31, "zh-CN", DAY, "2026年1月2日"),
        (34, "zh-TW", 0.75, "下午06時00分"),
        (34, "", 0.75, "18:00:00"),
        (34, "", DAY, "2026/1/2"),
        (9, "", 0.1, "10%"),
        (44, "", 5, "$5.00"),
        (46, "", 1.5, "36:00:00"),
        (12_345, "", 1.5, "1.5"),
    ],
)
def test_formats_without_a_code_are_those_of_the_region(
    number: int, region: str, value: float, shown: str
) -> None:
    form = number_format(builtin_code(number, region), region=region)
    assert form.number(value) == shown


@pytest.mark.parametrize(
    ("fonts", "names", "region"),
    [
        ([("Calibri", 0)], ["Sheet1"], ""),
        ([("新細明體", 136)], ["Sheet1"], "zh-TW"),
        ([("Calibri", 0), ("宋体", 0)], [], "zh-CN"),
        ([("ＭＳ Ｐゴシック", 128)], [], "ja"),
        ([("Malgun Gothic", 0)], [], "ko"),
        ([], ["シート1"], "ja"),
        ([], ["工作表1"], "zh-TW"),
    ],
)
def test_the_region_shows_in_fonts_and_names(
    fonts: list[tuple[str, int]], names: list[str], region: str
) -> None:
    assert region_of(fonts, names) == region


CODES = st.text('0#?.,%/E+-;@[]()<>=$"\\_*hmsyedgabAPM/年 1234:Red-404Genral', max_size=24)


@given(CODES, st.floats(allow_nan=True, allow_infinity=True))
def test_no_code_breaks_the_reading(code: str, value: float) -> None:
    assert isinstance(number_format(code).number(value), str)


@given(st.decimals(-(10**8), 10**8, places=4, allow_nan=False), st.integers(0, 4))
def test_decimals_are_the_numbers_rounded_away_from_zero(value: Decimal, places: int) -> None:
    shown = number_format("0." + "0" * places if places else "0").number(float(value))
    step = Decimal(1).scaleb(-places)
    assert Decimal(shown) == value.quantize(step, rounding="ROUND_HALF_UP")


@given(st.floats(-1e12, 1e12, allow_subnormal=False))
def test_general_stays_near_the_number_and_short(value: float) -> None:
    shown = number_format("General").number(value)
    assert len(shown.lstrip("-")) <= 11
    assert math.isclose(float(shown), value, rel_tol=1e-5, abs_tol=1e-10)
