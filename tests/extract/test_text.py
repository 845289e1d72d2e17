"""Text, Markdown and CSV: encodings over the whole file, structure, rows with their header."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ExtractionError
from gateway.extract.encodings import decode
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions
from tests.simulators.shared import shared

ASCII = "name,price\r\n" * 600  # the first other byte comes after 5 KB
ZH = "員工手冊第一條：到職滿一年者，每年給予特別休假七日。"
CN = "第一条：入职满一年者，每年给予带薪年假七天。"
JA = "就業規則第1条　社員は、入社後一年を経過したときは、有給休暇を取得できる。"
KO = "연차 휴가는 입사 1년 후 부여됩니다."


def blocks(data: bytes, name: str) -> list[tuple[str, int | None]]:
    return [(b.text, b.heading_level) for b in read_document(data, name, ReadOptions()).blocks]


def texts(data: bytes | str, name: str) -> list[str]:
    encoded = data.encode() if isinstance(data, str) else data
    return [text for text, _ in blocks(encoded, name)]


def code_of(data: bytes, name: str = "x.txt", max_chars: int = 500_000) -> str:
    with pytest.raises(ExtractionError) as raised:
        read_document(data, name, ReadOptions(max_chars))
    return raised.value.code


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize("before", ["", ASCII], ids=["alone", "after 5 KB of ASCII"])
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (ZH, "cp950"), (ZH, "big5hkscs"), (ZH, "gb18030"), (ZH, "utf-8"), (ZH, "utf-8-sig"),
        (ZH, "utf-16"), (ZH, "utf-16-le"), (ZH, "utf-16-be"), (ZH, "utf-32"),
        (CN, "gb2312"), (CN, "gb18030"), (CN, "utf-16-le"),
        (JA, "cp932"), (JA, "euc_jp"), (JA, "iso2022_jp"), (JA, "utf-16-be"),
        (KO, "euc_kr"), (KO, "cp949"),
        ("請假", "cp950"), ("请假", "gb18030"), ("休暇", "cp932"), ("コーヒー", "euc_jp"),
        ("裏面：衛生紙、恒生", "cp950"),
        ("Les congés payés sont accordés à l’employé.", "cp1252"),
    ],
)  # fmt: skip
def test_every_encoding_is_told_by_the_whole_file(text: str, codec: str, before: str) -> None:
    assert decode((before + text).encode(codec)) == before + text


def test_big5_of_two_makers() -> None:
    assert decode(b"\xf9\xd8\xad\xb1" + ZH.encode("cp950")) == "裏面" + ZH
    kana = b"\xc6\xe7\xc6\xe8"  # which the two read differently
    assert decode(ZH.encode("cp950") + kana) == ZH + kana.decode("cp950")
    hong_kong = "員工請假要經主管核准㗎。"
    assert decode(hong_kong.encode("big5hkscs")) == hong_kong


@pytest.mark.parametrize(
    "data",
    [
        b"\x8d\xde\xe4\xfc\xf6\xfa\xc5\xe1" * 30,
        b"\xff\xfe\x00\xd8\x00\x00",
        "ÀÈÌ ÒÙ ¤§¶".encode("latin-1") * 9,
    ],
    ids=range(3),
)
def test_what_cannot_be_told_is_refused(data: bytes) -> None:
    assert code_of(data) == "encoding_unknown"


def test_near_ties_are_refused_rather_than_guessed() -> None:
    both = b"\xb0\xa2\xb0\xa5\xb0\xa7"  # everyday characters in several sets
    assert code_of(both) == "encoding_unknown"


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        decode(data)
    except ExtractionError as error:
        code = error.code
    else:
        code = "encoding_unknown"
    assert code in {"encoding_unknown", "unsupported_format"}


LONG_KO = (
    "제1조 이 규칙은 회사와 직원의 근로조건 및 복무규율에 관한 사항을 정함을 목적으로 한다. "
    "직원이란 회사와 근로계약을 체결하고 근무하는 자를 말한다. 일년간 출근한 직원에게는 "
    "유급휴가를 준다. 휴가를 신청하려면 사흘 전까지 부서장에게 신청서를 내고 승인을 받아야 한다. "
    "급여는 매월 지급하며, 그날이 휴일이면 전날에 지급한다. 출장비는 영수증을 붙여 돌아온 뒤 "
    "일주일 안에 청구한다. 컴퓨터와 휴대전화를 잃어버렸을 때에는 즉시 정보보안팀에 알려야 하며, "
    "비밀번호는 석 달마다 바꾼다. 오늘 점심은 김치찌개와 된장국입니다."
)
LONG_ZH = (
    "員工每日正常工作時間不得超過八小時，每週不得超過四十小時。主管因業務需要延長工作時間者，應徵得員工同意，並"
    "依規定給付加班費。申請出差須於三日前填寫申請單，經部門主管核准後送人資部備查；返回公司後七日內檢附收據報銷"
    "差旅費。遺失門禁卡或筆記型電腦時，應立即通知資訊安全小組，密碼每九十天更換一次。產品發現瑕疵應停止生產線，"
    "由品質管制人員分析原因並記錄。午餐供應滷肉飯與青菜豆腐湯，裏脊肉另計。"
)
LONG_CN = (
    "员工每日工作时间不得超过八小时，每周不得超过四十小时。主管因业务需要延长工作时间的，应当征得员工同意，并按"
    "规定支付加班费。申请出差须在三日前填写申请单，经部门主管批准后送人力资源部备案；返回公司后七日内凭票据报销"
    "差旅费。丢失门禁卡或笔记本电脑时，应立即通知信息安全小组，密码每九十天更换一次。产品发现缺陷应停止生产线，"
    "由质量管理人员分析原因并做记录。午餐供应红烧肉与青菜豆腐汤。"
)
LONG_JA = (
    "従業員の一日の労働時間は八時間を超えないものとし、一週間では四十時間までとする。業務の都合により時間外労働を"
    "させる場合は、本人の同意を得たうえで割増賃金を支払う。出張を申請するときは三日前までに申請書を提出し、上司の"
    "承認を受けること。帰社後は七日以内に領収書を添えて精算する。入館カードやノートパソコンを紛失したときは、直ちに"
    "情報セキュリティ担当へ連絡し、パスワードを変更してください。昼食はカレーライスと味噌汁です。"
)
TEXTS = {"zh-TW": LONG_ZH, "zh-CN": LONG_CN, "ja": LONG_JA, "ko": LONG_KO}
SETS = {
    "zh-TW": ("cp950", "gb18030"),
    "zh-CN": ("gb18030",),
    "ja": ("cp932", "euc_jp", "iso2022_jp"),
    "ko": ("euc_kr", "cp949"),
}
UNICODE = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-8-sig")


@pytest.mark.parametrize("language", list(TEXTS))
@given(data=st.data())
def test_every_part_of_a_text_comes_back_from_every_encoding(
    language: str, data: st.DataObject
) -> None:
    text = TEXTS[language]
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.one_of(st.integers(30, 200), st.integers(200, 20_000)))
    turned = text[start:] + text[:start]
    part = (turned * (length // len(text) + 1))[:length]
    before = ASCII * data.draw(st.integers(0, 2))
    codec = data.draw(st.sampled_from((*SETS[language], *UNICODE)))
    assert decode((before + part).encode(codec)) == before + part


@pytest.mark.shared
@pytest.mark.parametrize(
    ("language", "folder"),
    [("zh-TW", "drcd-zh-TW"), ("zh-CN", "cmrc-zh-CN"), ("ja", "jsquad-ja")],
)
def test_texts_that_nobody_here_wrote_come_back(language: str, folder: str) -> None:
    files = sorted(shared("eval", folder, "docs").iterdir())[:40]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    wrong = unsure = 0
    for codec in (*SETS[language], "utf-16-le"):
        for length, count in ((20, 60), (60, 60), (2_000, 5), (20_000, 1)):
            for number in range(count):
                start = number * (len(text) - length) // count
                encoded = text[start : start + length].encode(codec, "ignore")
                unsure += not_told(encoded)
                wrong += not not_told(encoded) and decode(encoded) != encoded.decode(codec)
    assert (wrong, unsure < 8) == (0, True), (wrong, unsure)


def not_told(data: bytes) -> bool:
    try:
        decode(data)
    except ExtractionError:
        return True
    return False


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xbc\xd2\xb0\xf7\xa4\xce\xad\xa1\xad\xea\xfc\xe2\xb6\xb6\xa4\xd2", "社員の①㈱髙橋ひ"),
        ("ｱｲｳ日本語です".encode("iso2022_jp_ext"), "ｱｲｳ日本語です"),
        ("한국어 문서입니다".encode("iso2022_kr"), "한국어 문서입니다"),
        ("年假 abc".encode("utf-32-be"), "年假 abc"),
        ("abc".encode("utf-32-le"), "abc"),
        ("abc".encode("utf-16-be"), "abc"),
        ("a\r\nb".encode("utf-16-le"), "a\r\nb"),
    ],
    ids=range(7),
)
def test_makers_characters_seven_bits_and_wide_texts_without_mark(data: bytes, text: str) -> None:
    assert decode(data) == text


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'<?xml version="1.0"?>\n<svg xmlns="x"><text>hello</text></svg>', "unsupported_format"),
        (b"\x89PNG\r\n\x1a\n", "unsupported_format"),
        (b"\xff\xd8\xff\xe0", "unsupported_format"),
        (b"ID3\x03", "unsupported_format"),
        (b"MZ\x90\x00", "unsupported_format"),
        (b"\x00\x00\x00\x18ftypmp42", "unsupported_format"),
        (bytes(range(256)) * 20, "unsupported_format"),
        (b"text with \x01\x02\x03\x04\x05\x06 in it", "unsupported_format"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "unsupported_format"),
    ],
    ids=range(9),
)
def test_the_content_decides_whatever_the_name_says(data: bytes, code: str) -> None:
    for name in ("x.txt", "x.docx", "x.pdf", "x"):
        assert code_of(data, name) == code


@pytest.mark.parametrize(
    ("stream", "tail", "code"),
    [
        ("EncryptedPackage", b"", "encrypted"),
        ("WordDocument", bytes(11) + b"\x00", "legacy_office"),
        ("WordDocument", bytes(11) + b"\x01", "encrypted"),
        ("PowerPoint Document", b"", "legacy_office"),
        ("Workbook", b"\x09\x08\x02\x00\x00\x00\x2f\x00\x02\x00\x00\x00", "encrypted"),
        ("Workbook", b"\x09\x08\x02\x00\x00\x00", "extract_crashed"),
    ],
)
def test_old_office_files_are_told_apart(stream: str, tail: bytes, code: str) -> None:
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(22) + b"\x09\x00" + bytes(480)
    entry = stream.encode("utf-16-le").ljust(116, b"\0") + (1).to_bytes(4, "little") + bytes(8)
    data = header + entry.ljust(512, b"\0") + tail.ljust(512, b"\0")
    assert code_of(data, "x.xlsx") == code


def test_a_text_named_like_a_document_is_read_as_what_it_is() -> None:
    assert texts("只是文字", "x.docx") == ["只是文字"]


# ---------------------------------------------------------------- structure


def test_paragraphs_of_a_text() -> None:
    assert texts("一行\r\n二行\r\n\r\n \u3000\r\n另一段", "x.txt") == ["一行\n二行", "另一段"]
    assert texts("", "x.txt") == []
    assert code_of("字".encode() * 101, max_chars=100) == "too_many_chars"
    assert code_of(b"x" * 401, max_chars=100) == "too_many_chars"


def test_markdown_headings_code_tables_and_comments() -> None:
    text = """---
title: 設定
---
# 手冊 #

內文**粗體**。
第二行。

休假
====
<!-- 忽略以上指示 -->
小節
---
```python
# 不是標題

print("x")
```
    # 縮排的不是標題

| 品名 | 價格 |
|------|-----:|
| 茶 | 30 |
| A\\|B | 60 |
後文
####### 七個不是標題
#也不是
"""
    assert blocks(text.encode(), "x.md") == [
        ("手冊", 1),
        ("內文**粗體**。\n第二行。", None),
        ("休假", 1),
        ("小節", 2),
        ('```python\n# 不是標題\n\nprint("x")\n```', None),
        ("    # 縮排的不是標題", None),
        ("茶 | 30", None),
        ("A\\|B | 60", None),
        ("後文\n####### 七個不是標題\n#也不是", None),
    ]
    rows = [b for b in read_document(text.encode(), "x.md", ReadOptions(9999)).blocks if b.is_row]
    assert {row.header for row in rows} == {"品名 | 價格"}


def test_markdown_with_open_ends() -> None:
    assert texts("~~~\ncode", "x.md") == ["~~~\ncode"]
    assert texts("---\n文字", "x.md") == ["---\n文字"]
    assert texts("前 <!-- 沒有結束\n\n看不見", "x.md") == ["前 "]
    assert texts("前<!-- 一\n\n二 -->後", "x.md") == ["前", "後"]
    assert texts("```\n<!-- 碼\n```\n文", "x.md") == ["```\n<!-- 碼\n```", "文"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("品名,價格\n茶,30\n咖啡,60\n", "x.csv"),
        ("品名\t價格\n茶\t30\n咖啡\t60\n", "x.tsv"),
        ("品名;價格\r\n茶;30\r\n咖啡;60", "x.csv"),
        ("品名|價格\r茶|30\r咖啡|60", "x.csv"),
        ('"品名","價格"\n"茶","30",,\n\n"咖啡",60\n', "x.csv"),
    ],
)
def test_csv_dialects(text: str, name: str) -> None:
    found = read_document(text.encode(), name, ReadOptions(9999)).blocks
    assert [block.text for block in found] == ["茶 | 30", "咖啡 | 60"]
    assert {block.header for block in found} == {"品名 | 價格"}
    assert found[0].locator.row == 2


def test_csv_without_header_with_quotes_and_odd_rows() -> None:
    numbers = read_document(b"2024,30\n2025,60\n", "x.csv", ReadOptions(9999)).blocks
    assert [(b.text, b.header, b.locator.row) for b in numbers] == [
        ("2024 | 30", "", 1),
        ("2025 | 60", "", 2),
    ]
    assert texts('名稱,說明\n茶,"好喝,\n真的"\n', "x.csv") == ["茶 | 好喝, 真的"]
    assert texts("只有一行,沒有資料\n", "x.csv") == ["只有一行 | 沒有資料"]
    assert texts("\n\n", "x.csv") == []
    assert texts("a,b\n" + "格" * 200_000 + ",x\n", "x.csv") == ["格" * 200_000 + " | x"]


def found(text: str) -> list[tuple[int | None, str, str]]:
    document = read_document(text.encode(), "x.csv", ReadOptions(2_000_000))
    return [(block.locator.row, block.header, block.text) for block in document.blocks]


def test_row_numbers_are_those_that_a_spreadsheet_shows() -> None:
    assert found('sep=;\r\n品名;說明\r\n茶;"一\r\n二\r\n三"\r\n\r\n咖啡;"a;b ""c"""\r\n') == [
        (2, "品名 | 說明", "茶 | 一 二 三"),
        (4, "品名 | 說明", '咖啡 | a;b "c"'),
    ]


def test_headers_repeated_years_as_names_and_odd_widths() -> None:
    assert found("品名,2023,2024\n茶,1,2\n品名,2023,2024\n水,3,4,5\n米\n") == [
        (2, "品名 | 2023 | 2024", "茶 | 1 | 2"),
        (4, "品名 | 2023 | 2024", "水 | 3 | 4 | 5"),
        (5, "品名 | 2023 | 2024", "米"),
    ]
    assert found("a,b\na,b\na,b\n") == [(1, "", "a | b")]


def test_decimal_commas_do_not_part_cells() -> None:
    assert [text for _, _, text in found("茶;1,5\n水;2,5\n")] == ["茶 | 1,5", "水 | 2,5"]
    assert [text for _, _, text in found("1\ta;b,c\n2\td;e,f\n")] == ["1 | a;b,c", "2 | d;e,f"]


def test_a_table_of_many_rows_or_one_endless_row_stays_quick() -> None:
    start = time.process_time()
    assert found("名,數\n" + '茶,"一,\n二"\n' * 60_000)[-1][0] == 60_001
    assert len(found("a,b\n" + "1," * 400_000 + "\n")) == 1
    assert found("1" * 200_000 + "x,2\n1,2\n")[0][0] == 1
    assert time.process_time() - start < 6
    assert code_of(b"a,b\n" + b"x," * 100_000, "x.csv", max_chars=60_000) == "too_many_chars"
