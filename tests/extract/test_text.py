"""Text, Markdown and CSV: encodings over the whole file, structure, rows with their header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ExtractionError
from gateway.extract.encodings import decode
from gateway.extract.formats import read_document
from gateway.extract.reading import ReadOptions

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


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x89PNG\r\n\x1a\n", "unsupported_format"),
        (b"\xff\xd8\xff\xe0", "unsupported_format"),
        (b"ID3\x03", "unsupported_format"),
        (b"MZ\x90\x00", "unsupported_format"),
        (b"\x00\x00\x00\x18ftypmp42", "unsupported_format"),
        (bytes(range(256)) * 20, "unsupported_format"),
        (b"text with \x01\x02\x03\x04\x05\x06 in it", "unsupported_format"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "unsupported_format"),
    ],
    ids=range(8),
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
        ("Workbook", b"\x09\x08\x02\x00\x00\x00", "unsupported_format"),
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
