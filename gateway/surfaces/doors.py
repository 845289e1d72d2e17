"""For whom a program asks: an account's token or an agent's key, and what each may read.

The table is that of FEATURES, "Doors and audiences"; what an audience may read is the scope
rule's alone.
"""

from aiohttp import web

from gateway.accounts.sign_in import SignIn
from gateway.core.access import Account, Audience, AudienceKind
from gateway.core.agents import AgentSettings
from gateway.errors import InvalidRequestError, NotFoundError, NotSignedInError
from gateway.interfaces import AgentFiles, Agents, Session
from gateway.operations.ask import check_agent
from gateway.operations.table import Caller
from gateway.surfaces.session import language_of

TOKEN, AGENT = "token", "agent"
SYSTEM = Audience(AudienceKind.SYSTEM)
KEY_HEADERS = ("X-API-Key", "api-key")


class Doors:
    """Lets programs in; browsers and their cookies have `HttpCallers`."""

    def __init__(self, sign_in: SignIn, agents: Agents, files: AgentFiles) -> None:
        self._sign_in = sign_in
        self._agents = agents
        self._files = files

    async def open(
        self,
        request: web.Request,
        surface: str,
        *,
        agent_id: str | None = None,
        asker_token: str | None = None,
    ) -> Caller:
        """Whom the request's key lets in, to the agent of its path where it names one.

        NotSignedInError: no key or asker's token, or one that does not hold. NotFoundError: an
        agent that is missing, archived or not for this key. InvalidRequestError: keys that differ.
        """
        held = await self._sign_in.held(secret_of(request))
        session, account = held if held is not None else (None, None)
        if session is None or account is None or session.kind not in (TOKEN, AGENT):
            raise NotSignedInError("key")
        asker = await self._asker(asker_token)
        agent: AgentSettings | None
        if session.kind == AGENT:
            agent = await self._of_key(session, agent_id)
            person = asker
        else:
            if asker is not None and asker.id != account.id:  # neither of the two alone asks
                raise NotSignedInError("asker")
            agent = await self._of_account(account, agent_id)
            person = account
        return _caller(agent, person, surface, language_of(request))

    async def _asker(self, token: str | None) -> Account | None:
        if token is None:
            return None
        account = await self._sign_in.account_of(token.strip(), kind=TOKEN)
        if account is None:  # never the agent's own reading instead
            raise NotSignedInError("asker")
        return account

    async def _of_key(self, session: Session, agent_id: str | None) -> AgentSettings:
        own = session.agent_id or ""
        agent = await self._files.load(own)
        if agent is None or agent.is_archived or agent_id not in (None, own):
            raise NotFoundError("agent")
        return agent

    async def _of_account(self, account: Account, agent_id: str | None) -> AgentSettings | None:
        if agent_id is None:
            return None
        await check_agent(self._agents, self._files, agent_id, account)
        agent = await self._files.load(agent_id)
        if agent is None or agent.is_archived:
            raise NotFoundError("agent")
        return agent


def secret_of(request: web.Request) -> str:
    """The one key that came with the request; NotSignedInError without, InvalidRequestError
    where several differ.
    """
    found = [request.headers[name].strip() for name in KEY_HEADERS if name in request.headers]
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found.append(token.strip())
    if len(set(found)) > 1:
        names = f"Authorization, {', '.join(KEY_HEADERS)}"
        raise InvalidRequestError("keys differ", reason=f"{names}: differ")
    if not found or not found[0]:
        raise NotSignedInError("key")
    return found[0]


def _caller(
    agent: AgentSettings | None, person: Account | None, surface: str, asked_in: str | None
) -> Caller:
    """An account alone is in the dashboard; with an agent it is never 1:1."""
    if agent is None:
        audience = Audience(AudienceKind.DASHBOARD, person, is_direct=True)
    else:
        audience = SYSTEM if person is None else Audience(AudienceKind.ACCOUNT_DOOR, person)
    language = (person.language if person is not None else None) or asked_in
    side = None if agent is None else agent.side
    return Caller(person, audience, surface, agent=side, language=language)
