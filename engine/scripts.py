"""Words of tables in other scripts, in English: the headers and labels that people type in Chinese, Japanese, Korean and Russian reports.

Applied to whole lines before a table is looked for, so that every layout gains by it. A line keeps its number, and figures are not touched.
Emblems that open a line (a rocket before `Throughput:`) go as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_LOADS = (
    *("最大并发请求数", "最大并发数", "并发请求数", "并发用户数", "并发连接数", "并发数", "并发度", "并发量", "最大并发", "并发"),
    *("Число одновременных запросов", "Одновременных запросов", "Одновременные запросы", "одновременных запросов", "одновременные запросы"),
    *("同時リクエスト数", "同時接続数", "同時実行数", "同時ユーザー数", "並列リクエスト数", "並列数", "同時数"),
    *("동시 요청 수", "동시 요청수", "동시 사용자 수", "동시 사용자", "동시 요청", "동시성"),
)
_WORDS = {
    **dict.fromkeys(_LOADS, "concurrency"),
    **dict.fromkeys(("首个token延迟", "首token延迟", "首token时延", "首token时间", "首token耗时", "首字延迟", "首字时间", "首字耗时", "首词延迟"), "TTFT"),
    **dict.fromkeys(("首 token 延迟", "首 token 时延", "首 token 时间", "首Token延迟", "首Token时延", "首包延迟", "最初のトークンまでの時間", "첫 토큰 지연"), "TTFT"),
    **dict.fromkeys(("总吞吐量", "总吞吐", "系统吞吐量", "系统吞吐", "整体吞吐", "聚合吞吐量", "聚合吞吐", "合計スループット", "総スループット", "총 처리량"), " total throughput "),
    **dict.fromkeys(("输出吞吐量", "输出吞吐", "生成吞吐量", "生成吞吐"), " output throughput "),
    **dict.fromkeys(("输入吞吐量", "输入吞吐", "预填充吞吐"), " input throughput "),
    **dict.fromkeys(("吞吐量", "吞吐率", "吞吐", "スループット", "처리량"), " throughput "),
    **dict.fromkeys(("单用户", "每用户", "单请求", "每请求", "单路", "每路", "单并发", "每个请求", "ユーザーあたり", "リクエストあたり", "사용자당", "요청당"), " per request "),
    **dict.fromkeys(("端到端延迟", "端到端时延", "平均响应时间", "平均延迟", "平均时延", "平均レイテンシ", "평균 지연"), " mean latency "),
    **dict.fromkeys(("响应时间", "延迟", "时延", "レイテンシ", "지연 시간", "지연"), " latency "),
    **dict.fromkeys(("总耗时", "总时间", "总用时", "所要時間", "合計時間", "총 시간"), " total time "),
    **dict.fromkeys(("生成速度", "解码速度", "输出速度", "生成速率"), " decode speed "),
    **dict.fromkeys(("请求总数", "总请求数", "请求数", "リクエスト数", "요청 수"), " requests "),
    **dict.fromkeys(("成功请求数", "成功数", "成功请求", "成功"), " successful "),
    **dict.fromkeys(("失败请求数", "失败数", "失败请求", "失败", "エラー"), " failed "),
    **dict.fromkeys(("Пропускная способность", "пропускная способность"), "throughput"),
    **dict.fromkeys(("Средняя задержка", "средняя задержка"), "mean latency"),
    **dict.fromkeys(("токенов/с", "токен/с", "токенов/сек", "ток/с"), "tok/s"),
    **dict.fromkeys(("平均", "평균"), " mean "),
    **dict.fromkeys(("中位数", "中央値"), " median "),
    **dict.fromkeys(("毫秒", "ミリ秒"), "ms"),
    **dict.fromkeys(("(秒)", "（秒）", "(с)", "(сек)"), "(s)"),
    "(мс)": "(ms)",
    **dict.fromkeys(("模型", "モデル", "모델"), " model "),
    "成功率": " success rate ", "トークン/秒": "tok/s", "토큰/초": "tok/s", "总": " total ", "：": ": ", "（": " (", "）": ")", "，": ", ", "；": "; ", "｜": "|",
}  # fmt: skip
_ORDER = sorted(_WORDS, key=len, reverse=True)
_FOREIGN = r"[\x{0400}-\x{04ff}\x{3000}-\x{9fff}\x{ac00}-\x{d7af}\x{ff00}-\x{ffef}]"
_EMBLEM = r"^(\s*(?:[-*>]\s+)?)(?:[\x{2600}-\x{27bf}\x{1f000}-\x{1faff}\x{2b00}-\x{2bff}\x{23e9}-\x{23ff}]\x{fe0f}?\s*)+"
_EMBLEM_HINT = r"^\s*(?:[-*>]\s+)?[\x{2600}-\x{27bf}\x{1f000}-\x{1faff}\x{2b00}-\x{2bff}\x{23e9}-\x{23ff}]"


def in_english(lines: pl.Series) -> pl.Series:
    """The lines with the words of tables in English and without emblems before them; vectorised, and only lines that hold any are touched."""
    import polars as pl

    foreign, emblems = lines.str.contains(_FOREIGN), lines.str.contains(_EMBLEM_HINT)
    if not (foreign.any() or emblems.any()):
        return lines
    frame = pl.DataFrame({"line": lines, "foreign": foreign, "emblems": emblems})
    put = pl.col("line").str.replace_many(_ORDER, [_WORDS[w] for w in _ORDER], leftmost=True)
    frame = frame.with_columns(line=pl.when("foreign").then(put).otherwise("line"))
    bare = pl.when("emblems").then(pl.col("line").str.replace(_EMBLEM, "${1}")).otherwise("line")
    return frame.select(line=bare)["line"]
