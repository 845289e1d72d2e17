# mypy: disable-error-code="import-not-found"
"""Asks with azure-search-documents' KnowledgeAgentRetrievalClient, unchanged, in its own venv.

Arguments: address, agent, key. Prints one JSON object of what each call came to.
"""

import asyncio
import json
import sys
from typing import Any

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.search.documents.agent import KnowledgeAgentRetrievalClient
from azure.search.documents.agent.aio import KnowledgeAgentRetrievalClient as AsyncClient
from azure.search.documents.agent.models import (
    KnowledgeAgentMessage,
    KnowledgeAgentMessageImageContent,
    KnowledgeAgentMessageImageContentImage,
    KnowledgeAgentMessageTextContent,
    KnowledgeAgentRetrievalRequest,
    SearchIndexKnowledgeSourceParams,
)

ONE_ID = "00000000-0000-0000-0000-000000000001"


def asked(text: str, **params: str) -> KnowledgeAgentRetrievalRequest:
    image = KnowledgeAgentMessageImageContentImage(url="http://127.0.0.1:1/never.png")
    content = [
        KnowledgeAgentMessageTextContent(text=text),
        KnowledgeAgentMessageImageContent(image=image),
    ]
    message = KnowledgeAgentMessage(role="user", content=content)
    named = [SearchIndexKnowledgeSourceParams(**params)] if params else None
    return KnowledgeAgentRetrievalRequest(messages=[message], knowledge_source_params=named)


def told(answer: Any) -> dict[str, Any]:
    return {
        "text": answer.response[0].content[0].text,
        "activity": [type(each).__name__ for each in answer.activity],
        "counts": [each.count for each in answer.activity if each.type == "searchIndex"],
        "times": [str(each.query_time) for each in answer.activity if each.type == "searchIndex"],
        "references": [type(each).__name__ for each in answer.references],
        "keys": [each.doc_key for each in answer.references],
        "scores": [each.reranker_score for each in answer.references],
        "titles": [(each.source_data or {}).get("title") for each in answer.references],
    }


def refused(url: str, agent: str, key: str, **options: Any) -> list[Any]:
    version = {"api_version": options["version"]} if "version" in options else {}
    client = KnowledgeAgentRetrievalClient(
        url, agent, AzureKeyCredential(key), retry_total=0, **version
    )
    try:
        client.retrieve(asked("hello world", **options.get("params", {})))
    except HttpResponseError as error:
        body = json.loads(error.response.text())
        return [type(error).__name__, error.status_code, body["error"]["code"], error.message]
    finally:
        client.close()
    return []


async def asynchronous(url: str, agent: str, key: str, text: str) -> dict[str, Any]:
    client = AsyncClient(url, agent, AzureKeyCredential(key))
    try:
        return told(await client.retrieve(asked(text)))
    finally:
        await client.close()


def main(url: str, agent: str, key: str, text: str, asker: str) -> dict[str, Any]:
    client = KnowledgeAgentRetrievalClient(url, agent, AzureKeyCredential(key))
    headers: dict[str, str] = {}

    def keep(response: Any) -> None:
        headers.update(response.http_response.headers)

    ours = {"headers": {"x-ms-client-request-id": ONE_ID}, "raw_response_hook": keep}
    found = {
        "plain": told(client.retrieve(asked(text), **ours)),
        "echoed": headers.get("x-ms-client-request-id") == ONE_ID,
        "asker": told(client.retrieve(asked(text), x_ms_query_source_authorization=asker)),
        "filtered": told(
            client.retrieve(
                asked(text, knowledge_source_name="handbook", filter_add_on="kind eq url")
            )
        ),
        "async": asyncio.run(asynchronous(url, agent, key, text)),
        "bad key": refused(url, agent, "nonsense"),
        "bad agent": refused(url, "nobody", key),
        "bad version": refused(url, agent, key, version="2020-01-01"),
        "bad filter": refused(
            url,
            agent,
            key,
            params={"knowledge_source_name": "handbook", "filter_add_on": "kind eq"},
        ),
    }
    client.close()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
