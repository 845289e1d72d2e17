# mypy: disable-error-code="import-not-found"
"""Asks with cartesia-line's KnowledgeBase and its tool, unchanged, in its own venv.

Arguments: address, agent, key, question. Prints one JSON object of what each call came to.
"""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

from line.knowledge_base import KnowledgeBase, KnowledgeBaseError
from line.llm_agent import knowledge_base
from loguru import logger

PATIENCE_S = 20.0


async def refused(client: Any, text: str, **over: Any) -> str:
    try:
        await client.query(text, **over)
    except KnowledgeBaseError as error:
        return str(error)
    return ""


async def of_the_tool(client: Any, text: str, **over: Any) -> str:
    """What a model would read of one call of the tool."""
    tool = knowledge_base(timeout_s=PATIENCE_S, **over).as_function_tool()
    found = tool.func(SimpleNamespace(knowledge_base=lambda: client), query=text)
    told: str = await found
    return told


async def asked(url: str, agent: str, key: str, text: str) -> dict[str, Any]:
    client = KnowledgeBase(agent, key, base_url=url, timeout_s=PATIENCE_S)
    return {
        "plain": await client.query(text),
        "one": await client.query(text, top_k=1),
        "filtered": await client.query(text, filters={"category": "policy"}),
        "nothing": await client.query(text, filters={"category": "other"}),
        "bad key": await refused(KnowledgeBase(agent, "nonsense", base_url=url), text),
        "bad agent": await refused(KnowledgeBase("nobody", key, base_url=url), text),
        "bad number": await refused(client, text, top_k=1000),
        "too slow": await refused(client, text, timeout_s=0.000001),
        "tool": await of_the_tool(client, text, filters={"category": "policy"}),
        "tool finds nothing": await of_the_tool(client, text, filters={"category": "other"}),
        "tool without agent": await of_the_tool(KnowledgeBase("nobody", key, base_url=url), text),
    }


if __name__ == "__main__":
    logger.remove()
    sys.stdout.write(json.dumps(asyncio.run(asked(*sys.argv[1:]))))
