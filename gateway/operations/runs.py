"""Runs: an agent's work in a program beside us, for whom it is, and what it may read now (A21)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.accounts.sign_in import SignIn
from gateway.core.access import Account, Audience, AudienceKind
from gateway.core.asking import agent_has_collections
from gateway.core.passages import Passage
from gateway.core.scope import Scope
from gateway.core.turns import PresentedPassage
from gateway.errors import NotFoundError, NotSignedInError
from gateway.interfaces import AgentFiles, Agents, Ids, Scopes
from gateway.operations.ask import check_agent
from gateway.operations.table import Caller

SURFACE = "mcp"
TOKEN = "token"  # noqa: S105 - the kind of a session, no secret


@dataclass(slots=True)
class Run:
    """One registered run. It lives as long as its connection and is kept nowhere."""

    id: str
    agent_id: str
    account: Account
    secret: str = field(repr=False)
    language: str | None = None
    next_n: int = 1
    numbers: dict[int, int] = field(default_factory=dict)  # by passage id

    def present(self, passages: Sequence[Passage]) -> tuple[PresentedPassage, ...]:
        """Numbers go on from call to call; a passage that was shown before keeps its own."""
        for passage in passages:
            if passage.id not in self.numbers:
                self.numbers[passage.id] = self.next_n
                self.next_n += 1
        return tuple(PresentedPassage(self.numbers[each.id], each) for each in passages)


@dataclass(frozen=True, slots=True)
class Standing:
    """For whom a run is and what it may read at this moment."""

    caller: Caller
    scope: Scope
    has_tools: bool  # the library is on, and the agent's side has a collection


class Runs:
    """Registers runs, and decides anew at each call: token, agent, scope."""

    def __init__(
        self,
        sign_in: SignIn,
        agents: Agents,
        files: AgentFiles,
        scopes: Scopes,
        ids: Ids,
        *,
        is_open: bool,
    ) -> None:
        """`is_open`: [knowledge] enabled."""
        self._sign_in = sign_in
        self._agents = agents
        self._files = files
        self._scopes = scopes
        self._ids = ids
        self._is_open = is_open

    async def register(self, agent_id: str, token: str, language: str | None, next_n: int) -> Run:
        """NotSignedInError: the token holds for nobody. NotFoundError: no agent of that account.

        `next_n`: the number to go on with, of a run that lost its gateway.
        """
        account = await self._account(token)
        run = Run(self._ids.new(), agent_id, account, token, language, max(next_n, 1))
        await self.standing(run)
        return run

    async def standing(self, run: Run) -> Standing:
        """As `register`: what ended meanwhile ends the run's reading at once."""
        account = await self._account(run.secret)
        if account.id != run.account.id:
            raise NotSignedInError("token")
        await check_agent(self._agents, self._files, run.agent_id, account)
        settings = await self._files.load(run.agent_id)
        if settings is None:
            raise NotFoundError(run.agent_id)
        audience = Audience(AudienceKind.ACCOUNT_DOOR, account)
        scope = await self._scopes.scope(audience, settings.side)
        caller = Caller(
            account,
            audience,
            SURFACE,
            settings.side,
            run.id,
            language=account.language or run.language,
        )
        return Standing(caller, scope, self._is_open and agent_has_collections(scope))

    async def _account(self, token: str) -> Account:
        account = await self._sign_in.account_of(token, kind=TOKEN)
        if account is None:
            raise NotSignedInError("token")
        return account
