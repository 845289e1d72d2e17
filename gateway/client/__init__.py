"""For programs: ask an agent's documents over HTTP. Nothing of the gateway itself is needed.

async with KnowledgeBase("https://shutten.example", "hana", token) as kb:
    for found in await kb.query("How long is unopened stock returnable?"):
        print(found["content"])
"""

from gateway.client.knowledge_base import KnowledgeBase, KnowledgeBaseError

__all__ = ["KnowledgeBase", "KnowledgeBaseError"]
