"""Units of numbers and how much each counts, under all their names."""

from gateway.core.matching import match_text

MINUTES, MONTHS, GRAMS, CLOCK, DATE = "minutes", "months", "grams", "clock", "date"

# unit -> (dimension, how many of it); two numbers of one dimension are compared by their amount
UNITS: dict[str, tuple[str, float]] = {}


def _unit(dimension: str, amount: float, words: str) -> None:
    UNITS.update(
        {match_text(word.replace("_", " ")): (dimension, amount) for word in words.split()}
    )


_unit(MINUTES, 1, "分鐘 分間 分 minutes minute mins min")
_unit(MINUTES, 60, "小時 鐘頭 時間 hours hour hrs hr")
_unit(MINUTES, 1440, "日 天 日間 號 days day")
_unit(MINUTES, 20160, "fortnight")
_unit(MINUTES, 10080, "週 周 星期 禮拜 週間 週間 weeks week")
_unit(MINUTES, 1 / 60, "秒 秒鐘 秒間 seconds second")
_unit(MONTHS, 1, "個月 月 か月 ヶ月 カ月 ケ月 ヵ月 箇月 months month")
_unit(MONTHS, 3, "季 quarters quarter")
_unit(MONTHS, 12, "年 年間 years year")
_unit(GRAMS, 1, "公克 克 グラム grams gram g")
_unit(GRAMS, 1000, "公斤 キログラム キロ kilograms kilogram kg")
_unit("percent", 1, "% percent パーセント 趴")
_unit("percent", 10, "割 成")
_unit("usd", 1, "美元 美金 usd dollars dollar ドル")
_unit("jpy", 1, "円 日圓 日幣 yen jpy")
_unit("twd", 1, "twd ntd nt$")
_unit("eur", 1, "歐元 euros euro eur ユーロ")
_unit("money", 1, "元 塊")
_unit("night", 1, "晚 泊 nights night")
_unit("floor", 1, "樓 階 f")
_unit("people", 1, "人 名 位 people persons")
_unit("litre", 1, "公升 リットル litres litre liters liter l")
_unit("litre", 1e-3, "毫升 ミリリットル ml cc milliliters millilitres")
_unit("byte", 1, "mb")
_unit("byte", 1e3, "gb")
_unit("byte", 1e6, "tb")
_unit("length", 1, "公分 センチ cm centimeters centimetres")
_unit("length", 0.1, "公釐 ミリ mm millimeters millimetres")
_unit("length", 100, "公尺 メートル meters metres meter metre")
_unit("length", 1e5, "公里 キロメートル km kilometers kilometres")
_unit("km/h", 1, "km/h kph")
_unit("mph", 1, "mph")
_unit("age", 1, "歲 歳")
_unit("tatami", 1, "疊 畳 帖")
_unit("clock", 60, "點 時 點鐘")
