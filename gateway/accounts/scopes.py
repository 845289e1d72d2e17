"""Who is asking, and what may they read: gathers facts and applies core/scope.py."""

from gateway.core import scope as rule
from gateway.core.access import Account, AgentSide, Audience, AudienceKind, ChatAddress
from gateway.core.messages import InboundMessage
from gateway.core.scope import Reason, Scope
from gateway.interfaces import Accounts, Grants, Links

OVERRIDE_KINDS = frozenset(
    {AudienceKind.DASHBOARD, AudienceKind.WEBCHAT, AudienceKind.ACCOUNT_DOOR}
)
NOBODY = Audience(AudienceKind.NONE)


class ScopeService:
    """Implements `interfaces.Scopes` over the store, read at the moment of each call."""

    def __init__(self, accounts: Accounts, links: Links, grants: Grants) -> None:
        self._accounts = accounts
        self._links = links
        self._grants = grants

    async def audience(self, message: InboundMessage) -> Audience:
        """Decide for whom the turn is, from what was signed; no identity reads nothing."""
        if message.account_id is not None:
            account = await self._active(message.account_id)
            if account is None:
                return NOBODY
            is_direct = message.conversation.is_direct
            return Audience(AudienceKind.WEBCHAT, account, is_direct=is_direct)
        return await self._messaging_audience(message)

    async def _messaging_audience(self, message: InboundMessage) -> Audience:
        chat = message.conversation
        address = ChatAddress(chat.channel, chat.account_name, chat.id, chat.parent_id)
        if message.is_visitor:
            return Audience(AudienceKind.VISITOR, address=address)
        if message.sender is None:
            return NOBODY
        account = await self._active(await self._links.find(message.sender))
        if account is None:
            return Audience(AudienceKind.UNLINKED, address=address, is_direct=chat.is_direct)
        return Audience(
            AudienceKind.LINKED,
            account,
            address,
            is_direct=chat.is_direct,
            sender_id=message.sender.id,
        )

    async def _active(self, account_id: str | None) -> Account | None:
        account = await self._accounts.find(account_id) if account_id else None
        return account if account is not None and account.is_active else None

    async def scope(self, audience: Audience, agent: AgentSide | None) -> Scope:
        """Apply the rule to the store as it is now, one snapshot."""
        facts = await self._grants.facts(audience, agent, everything=_has_override(audience))
        return rule.decide(audience, agent, facts)

    async def renew(self, first: Scope, agent: AgentSide | None) -> Scope:
        """The scope as it is now, never wider than the first one of this turn."""
        return rule.renew(first, await self.scope(first.audience, agent))

    async def explain(self, audience: Audience, agent: AgentSide | None) -> tuple[Reason, ...]:
        """One reason for every live collection: why it can or cannot be read."""
        facts = await self._grants.facts(audience, agent, everything=True)
        return rule.explain(audience, agent, facts)


def _has_override(audience: Audience) -> bool:
    account: Account | None = audience.account
    return audience.kind in OVERRIDE_KINDS and account is not None and account.is_admin
