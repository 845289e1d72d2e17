"""Citation marks: which brackets of a text point at a presented passage, and in what form."""

import re

_BLANK = r"[ \t\u00a0\u3000\u200b-\u200d\u2060\ufeff]*+"
_NUMBER = r"\^?[0-9０-９]++"
_JOINT = r"[,，､、;；\-‐‑–—−－~〜～]"
_BODY = rf"{_BLANK}{_NUMBER}(?:{_BLANK}{_JOINT}{_BLANK}{_NUMBER})*+{_BLANK}(?:†[^\[\]【】［］〔〕\n]*+)?+"
_MARK = re.compile(rf"\[\[{_BODY}\]\]|\\?\[{_BODY}\\?\]|【{_BODY}】|［{_BODY}］|〔{_BODY}〕")
_LOOKALIKE = str.maketrans("[]［］【】〔〕", "〚〛〚〛〖〗〘〙")


def escape_marks(text: str) -> str:
    """A passage's text with its own citation-looking marks made harmless, before a model reads it.

    `[3]` becomes `〚3〛`, `【3】` becomes `〖3〗`, `〔3〕` becomes `〘3〙` (faults 46): visibly close, and
    never read as a citation if the model quotes it.
    """
    return _MARK.sub(lambda mark: mark[0].translate(_LOOKALIKE), text)
