"""`accounts.*`, `agents.*`: people and AI employees."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.accounts.sign_in import SignIn
from gateway.catalogue import LANGUAGES
from gateway.core.access import Account, AccountRole, Agent, BindingRole
from gateway.core.agents import AgentKnowledge, AgentSettings, AnswerMode
from gateway.core.audit import SecurityEvent
from gateway.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.interfaces import Accounts, AgentFiles, Agents, Audit, Clock, Ids
from gateway.operations.auth import Me, Nothing, me_of
from gateway.operations.table import Caller, Operation, Permission


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A person to be. The password is hashed at once."""

    login: str
    display_name: str
    password: str
    role: AccountRole = AccountRole.MEMBER
    department: str = ""
    language: str | None = None


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An AI employee to be; `collections` None = all that is granted to it."""

    id: str
    display_name: str
    department: str = ""
    model: str = "extractive"
    persona: str = ""
    collections: list[str] | None = None
    answer_mode: AnswerMode = AnswerMode.ASSIST


@dataclass(frozen=True, slots=True)
class Binding:
    """An account's role with an agent; None ends it."""

    agent_id: str
    account: str
    role: BindingRole | None = None


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent as people who work with it see it."""

    id: str
    display_name: str
    department: str
    is_archived: bool


class People:
    """What the operations about people share."""

    def __init__(  # noqa: PLR0913 - one collaborator a seam
        self,
        *,
        accounts: Accounts,
        agents: Agents,
        files: AgentFiles,
        sign_in: SignIn,
        audit: Audit,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._accounts = accounts
        self._agents = agents
        self._files = files
        self._sign_in = sign_in
        self._audit = audit
        self._clock = clock
        self._ids = ids

    async def account(self, reference: str) -> Account:
        """Find by id or login name."""
        found = await self._accounts.find(reference)
        found = found or await self._accounts.find_by_login(reference)
        if found is None:
            raise NotFoundError(reference)
        return found

    async def list_accounts(self, _caller: Caller, _request: Nothing) -> Sequence[Me]:
        """Everybody who can sign in."""
        return [me_of(account) for account in await self._accounts.list()]

    async def create_account(self, caller: Caller, request: NewAccount) -> Me:
        """Add a person; ConflictError when the login is taken."""
        login = request.login.strip()
        is_name = login.isprintable() and not any(char.isspace() for char in login)
        if not 1 <= len(login) <= 64 or not is_name:
            raise InvalidRequestError("login", reason="login: 1 to 64 characters, no spaces")
        if request.language not in (None, *LANGUAGES):
            raise InvalidRequestError("language", reason=f"language: {', '.join(LANGUAGES)}")
        if await self._accounts.find_by_login(login) is not None:
            raise ConflictError(f"login {login} is taken")
        self._sign_in.check_password(request.password)
        account = Account(
            self._ids.new(),
            login,
            request.display_name or login,
            request.role,
            request.department,
            request.language,
        )
        await self._accounts.put(account)
        await self._sign_in.set_password(account.id, request.password)
        await self._event("account_created", caller, {"account_id": account.id})
        return me_of(account)

    async def list_agents(self, caller: Caller, _request: Nothing) -> Sequence[AgentView]:
        """The agents the caller is bound to; admins may talk to all."""
        return [
            AgentView(agent.id, agent.display_name, agent.department, agent.is_archived)
            for agent in await self._agents.list()
            if caller.account is not None and await self.may_talk(caller.account, agent)
        ]

    async def list_all_agents(self, _caller: Caller, _request: Nothing) -> Sequence[AgentView]:
        """Every agent, archived ones too."""
        return [
            AgentView(agent.id, agent.display_name, agent.department, agent.is_archived)
            for agent in await self._agents.list()
        ]

    async def may_talk(self, account: Account, agent: Agent) -> bool:
        """Whether the account may ask this agent in web chat."""
        if agent.is_archived:
            return False
        return account.is_admin or account.id in await self._agents.bindings(agent.id)

    async def create_agent(self, caller: Caller, request: NewAgent) -> AgentView:
        """Add an agent: its record and its folder with agent.toml and persona.md."""
        if await self._agents.find(request.id) is not None:
            raise ConflictError(f"agent {request.id} exists")
        names = request.collections
        settings = AgentSettings(
            request.id,
            request.display_name or request.id,
            request.department,
            request.model,
            request.persona,
            AgentKnowledge(
                collections=None if names is None else frozenset(names),
                answer_mode=request.answer_mode,
            ),
        )
        await self._files.create(settings)
        agent = Agent(request.id, settings.display_name, request.department)
        await self._agents.put(agent)
        await self._event("agent_created", caller, {"agent_id": agent.id})
        return AgentView(agent.id, agent.display_name, agent.department, agent.is_archived)

    async def bind(self, caller: Caller, request: Binding) -> None:
        """Give an account a role with an agent, or end it."""
        account = await self.account(request.account)
        if await self._agents.find(request.agent_id) is None:
            raise NotFoundError(request.agent_id)
        await self._agents.bind(request.agent_id, account.id, request.role)
        await self._event(
            "agent_binding_changed",
            caller,
            {"agent_id": request.agent_id, "account_id": account.id, "role": request.role},
        )

    async def _event(
        self, name: str, caller: Caller, details: dict[str, str | int | bool | None]
    ) -> None:
        actor = caller.account.id if caller.account is not None else "operator"
        await self._audit.event(SecurityEvent(name, self._clock.now(), actor, details))


def operations(people: People) -> tuple[Operation, ...]:
    """The rows of `accounts.*` and `agents.*`."""
    admin = Permission.ADMIN
    return (
        Operation("accounts.list", "List people.", admin, Nothing, people.list_accounts),
        Operation("accounts.create", "Add a person.", admin, NewAccount, people.create_account),
        Operation(
            "agents.list",
            "List the agents one may talk to.",
            Permission.SIGNED_IN,
            Nothing,
            people.list_agents,
        ),
        Operation("agents.list_all", "List all agents.", admin, Nothing, people.list_all_agents),
        Operation("agents.create", "Add an agent.", admin, NewAgent, people.create_agent),
        Operation("agents.bind", "Bind a person to an agent.", admin, Binding, people.bind),
    )
