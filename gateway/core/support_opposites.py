"""Words that exclude one another in rules of a company, in three languages."""

import re
from collections.abc import Iterator

from gateway.core.matching import match_text

# One axis a line, its poles parted by a bar; a blank parts the words of a pole, _ is a blank.
# Words are patterns over folded text; Latin ones begin and end at a word's border, and a star
# stands for any ending.
_AXES = r"""
事前 事先 預先 預め あらかじめ 前もって before(?!_(?:they|you|it|he|she|we|i)\b) prior in_advance ahead_of | 事後 事后 after(?!_(?:they|you|it|he|she|we|i)\b) following
[業用始入開]前 前に 之前 prior in_advance | [業用了束後]後 [た後]後 後に 之後 upon
當日 當天 當月 当日 当月 同日 同月 same_day same_month | 翌 下個月 下月 來月 次日 次月 隔日 隔天 隔月 翌日 翌月 next_day next_month following_day
次の(?:営業)?日 next_(?:working_|business_)?(?:day|morning|month) | same_(?:shift|day|month|week)
平日 工作日 營業日 営業日 weekday* | 週末 假日 休日 例假日 土日 祝日 weekend* holiday*
早上 上午 午前 早晨 朝 morning* | 下午 午後 晚上 夜間 夕方 afternoon* evening* night*
左 left | 右 right
左側 左上 | 右側 右上
最上 上段 上層 頂層 top upper highest | 最下 下段 下層 底層 bottom lower lowest
前方 front | 後方 後面 rear back
增加 提高 調高 上漲 上升 增額 増加 増や 増え 増額 上が[るりっ] 上げ 引き上げ 値上げ 高くな increas* rais* rise* rising rose grow* higher | 減少 降低 調降 下降 下跌 減額 減ら 減り 下が[るりっ] 下げ 引き下げ 値下げ 安くな decreas* reduc* lower* cut cuts fall* fell drop* shrink*
高於 超過 高過 より高 超え 上回 高い above over higher warmer hotter exceed* | 低於 未滿 低過 より低 未満 下回 低い below under lower colder cooler
重於 より重 重い heavier | 輕於 より軽 軽い lighter
長於 より長 longer | 短於 より短 shorter
大於 より大 larger bigger | 小於 より小 smaller
多於 より多 more_than | 少於 より少 fewer_than less_than
免費 免收 無料 無償 free_of_charge free for_free no_charge at_no_cost complimentary | 收費 付費 有料 有償 需付 charged chargeable at_a_charge extra_charge
有薪 給薪 支薪 帶薪 有給 paid_leave | 無薪 不給薪 無給 unpaid
must_be_paid is_paid are_paid paid | unpaid without_pay
必須 強制 必修 義務 必需 mandatory compulsory obligatory | 任意 自由參加 自願 選修 自由参加 希望者 選択 optional* voluntary voluntarily
開放 開門 営業 營業 開室 開館 open(?!_until|_till) opens | 關閉 休館 公休 店休 休業 休室 閉館 閉鎖 打烊 closed closes shut
繼續 持續 照常 続け 継続 続行 continu* keep* carr(?:y|ies)_on go* on remain* in_force | 停止 中止 暫停 終止 中斷 停用 停止* 中断 打ち切 停め 止め stop* suspend* paus* halt* ceas* terminat* end ends
核准 批准 通過 同意 承認 可決 採択 approv* accept* adopted agreed passed granted | 駁回 否決 退回 拒絕 却下 否決 拒否 断[らりるっ] reject* refus* declin* turned_down den(?:y|ied) | 暫緩 擱置 延後 再議 展延 見送 保留 延期 先送 defer* postpon* put_off shelved
包含 包括 涵蓋 內含 適用 含まれ 含む 対象 includ* cover* | 不含 不包 不在 另計 除外 対象外 含まな 含みま 別途 exclud* not_included extra
所有 全部 全體 全員 一律 任何 每位 各項 すべて 全て 全社員 全拠点 全員 all every everyone each any | 部分 某些 若干 一部 特定 some certain part_of partly selected
自動 自动 automatic* | 手動 人工 手作業 manual*
新品 全新 新規 brand-new new | 中古 二手 舊品 used second-hand refurbished
內部 社內 公司內 院內 館內 室內 社内 室内 屋内 内部 internal* indoor* in-house inside | 外部 社外 公司外 院外 館外 室外 戶外 屋外 委外 external* outdoor* outside
國內 境內 國産 国内 domestic* | 國外 境外 海外 國際 overseas abroad international* foreign
書面 文書で 文書 in_writing written | 口頭 電話 oral* verbal* by_phone by_telephone
專用 專屬 専用 専ら 個別 dedicated exclusive separate | 共用 一般 通常 共同 兼用 shared ordinary regular common
加密 暗号化 encrypted | 未加密 明文 平文 unencrypted plain_text
正職 正式員工 正社員 全職 full-time permanent | 兼職 約聘 派遣 臨時 計時 非正規 契約社員 パート アルバイト part-time temporary
稅前 未稅 不含稅 税別 税抜 before_tax excluding_tax | 稅後 含稅 税込 税引後 after_tax including_tax
提前 提早 早め 前倒し early earlier sooner | 延遲 延後 逾期 遅れ 遅延 延期 late later delayed
立即 馬上 即時 立刻 即刻 直ちに すぐ 速やか immediately at_once straight_away right_away promptly without_delay | 延後 稍後 屆時 後日 later afterwards in_due_course
進口 輸入 import* | 出口 輸出 export*
買方 購買 買う 購入 buy* purchas* | 賣方 出售 販賣 賣出 売る 販売 sell* sale
借用 借入 借り borrow* | 歸還 返還 返却 return*
上鎖 鎖上 鎖定 施錠 lock* | 解鎖 開鎖 解錠 unlock*
開啟 打開 啟用 有効に オンに turn_on switch_on turned_on enabl* | 關閉 關掉 停用 無効に オフに turn_off switch_off turned_off disabl*
裝上 安裝 取り付け 装着 attach* install* | 取下 拆下 卸下 取り外 外して detach* remov* uninstall*
公開 public* disclos* | 非公開 保密 機密 不公開 秘密 confidential secret private
固定 一定 fixed constant | 浮動 變動 変動 variable floating
永久 無限期 無期限 永続 permanent* indefinite* forever | 暫時 臨時 限時 一時的 臨時 期限付 temporar* time-limited
全額 全數 全薪 全部 満額 in_full full fully whole | 半額 折半 半數 半薪 減半 部分 一部 half partial* partly
個人 個別 individual* personal* | 團體 集體 共同 団体 group* joint* collective*
成人 大人 成年 adult* | 兒童 小孩 未成年 子供 子ども 小人 child* minor*
最高 最大 最貴 最多 最も高 一番高 highest most_expensive largest biggest | 最低 最小 最便宜 最少 最も安 一番安 最安 lowest cheapest smallest
首次 初次 第一次 初回 初めて first_time | 再次 第二次 續約 二回目 再度 更新 again second_time renewal
月初 月初め beginning_of_the_month start_of_the_month | 月底 月末 月末日 end_of_the_month
年初 期初 年頭 年度初 | 年底 年終 年末 年度末 期末
週一 星期一 月曜 monday* | 週二 星期二 火曜 tuesday* | 週三 星期三 水曜 wednesday* | 週四 星期四 木曜 thursday* | 週五 星期五 金曜 friday* | 週六 星期六 土曜 saturday* | 週日 星期日 日曜 sunday*
每日 每天 毎日 日次 daily every_day each_day | 每週 每周 每星期 毎週 週次 weekly every_week each_week | 每月 毎月 每個月 月次 monthly every_month each_month | 每季 四半期 quarterly every_quarter each_quarter | 每年 毎年 年1回 年次 yearly annually annual every_year each_year
紅 赤 red | 綠 緑 green | 藍 青 blue | 黃 黄 yellow | 白 white | 黑 黒 black
東 east* | 西 west* | 南 south* | 北 north*
""".strip()  # noqa: E501

_CONDITIONS = (
    "不論 無論 不管 不問 即使 即便 にかかわらず を問わず であっても 場合でも いつでも "
    "regardless irrespective whether_or_not even_if no_matter any_time at_all_times | 僅限 "
    "限於 以[^,。]{1,8}為限 只有 方可 始得 才能 除外 不在此限 限り に限[るっり] 限定 "
    "場合のみ でなければ only unless except provided"
)
# given for free, and what a passage says that does
_FREE = "免費 免收 無料 無償 | 免 無料 無償 不另 不收 公司負擔 会社負担"


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(_word, words.split())))


def _word(word: str) -> str:
    word = match_text(word.replace("_", " "))
    if not re.search("[a-z]", word):
        return word.replace("*", "")
    return rf"\b{word.removesuffix('*')}" + (r"[a-z]*\b" if word.endswith("*") else r"\b")


def _axes() -> Iterator[tuple[re.Pattern[str], ...]]:
    for line in _AXES.splitlines():
        yield tuple(_pattern(pole) for pole in line.split(" | "))


AXES = tuple(_axes())
CONDITIONS = tuple(_pattern(pole) for pole in _CONDITIONS.split(" | "))
FREE = tuple(_pattern(pole) for pole in _FREE.split(" | "))
