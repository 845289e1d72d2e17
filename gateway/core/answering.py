"""Whether a turn is searched at all, and when `kb_only` answers without the model (A15, A16)."""

from gateway.core.agents import AgentKnowledge, AnswerMode

NO_PASSAGE = "chat.no_passage"
NO_COLLECTION = "chat.no_collection"


def searches_first(knowledge: AgentKnowledge, *, is_enabled: bool) -> bool:
    """Look passages up before the model is asked.

    `is_enabled` is the operator's `[knowledge] auto_retrieve`: false wins over the agent's true,
    but `kb_only` searches whatever either says.
    """
    if knowledge.answer_mode is AnswerMode.KB_ONLY:
        return True
    return is_enabled and knowledge.auto_retrieve


def kb_only_reply(
    mode: AnswerMode, *, has_readable: bool, has_injectable: bool, is_relevant: bool, presented: int
) -> str | None:
    """The catalogue key of the fixed reply, or None when the model may be asked.

    `has_readable`: the scope is not empty; `has_injectable`: nor is it without `restricted`;
    `is_relevant`: the search's own decision, False where nothing was searched (small talk, a
    slash command); `presented`: how many passages the prompt would hold. A model that must answer
    from passages alone is never asked without one.
    """
    if mode is AnswerMode.ASSIST:
        return None
    if not has_readable:
        return NO_COLLECTION
    if not has_injectable or not is_relevant or presented < 1:
        return NO_PASSAGE
    return None


def has_lost_its_grounds(mode: AnswerMode, cited: int, withdrawn: int) -> bool:
    """A `kb_only` answer whose every citation was withdrawn: the first fixed reply instead.

    `cited`: how many passages it still cites; `withdrawn`: marks its passages do not support.
    """
    return mode is AnswerMode.KB_ONLY and withdrawn > 0 and cited == 0
