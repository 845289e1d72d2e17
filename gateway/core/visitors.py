"""Visitors of a website: tokens that only we can make, addresses to count by, and rates."""

import hashlib
import hmac
import ipaddress
import json
import re
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

VALID_FOR = timedelta(days=30)
MOST_KEYS = 10_000  # whose events are remembered; the least recent are forgotten first
IPV6_SITE_BITS = 64  # one subscriber has them all
_TOKEN = re.compile(r"v1\.([A-Za-z0-9_-]{43})\.([0-9]{1,12})\.([0-9a-f]{64})")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token holds: one widget of one agent."""

    widget: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody nobody knows, who can be told from everybody else until `expires_at`."""

    id: str
    expires_at: datetime


def issue(visitor_id: str, place: Place, key: bytes, now: datetime) -> str:
    """A token for a new visitor; `visitor_id` is 256 random bits, url-safe (43 characters).

    Nothing of it is stored: the key vouches for visitor, place and end.
    """
    expires_s = int((now + VALID_FOR).timestamp())
    return f"v1.{visitor_id}.{expires_s}.{_seal(visitor_id, expires_s, place, key)}"


def verify(token: str, place: Place, key: bytes, now: datetime) -> Visitor | None:
    """Whose token it is; None for any other place's, an expired or a made-up one."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return None
    visitor_id, expires_s, seal = found[1], int(found[2]), found[3]
    is_ours = hmac.compare_digest(seal, _seal(visitor_id, expires_s, place, key))
    if not is_ours or now.timestamp() >= expires_s:
        return None
    return Visitor(visitor_id, datetime.fromtimestamp(expires_s, tz=UTC))


def _seal(visitor_id: str, expires_s: int, place: Place, key: bytes) -> str:
    said = json.dumps(["visitor", visitor_id, expires_s, place.widget, place.agent_id])
    return hmac.new(key, said.encode(), hashlib.sha256).hexdigest()


class Windows:
    """How often something happened within the last seconds, by key."""

    def __init__(self, most: int, within_s: float = 60.0, most_keys: int = MOST_KEYS) -> None:
        self._most = most
        self._within_s = within_s
        self._most_keys = most_keys
        self._events: OrderedDict[str, deque[float]] = OrderedDict()

    def is_full(self, key: str, now_s: float) -> bool:
        """Whether one more would be too many."""
        events = self._events.get(key, deque())
        while events and now_s - events[0] >= self._within_s:
            events.popleft()
        return len(events) >= self._most

    def count(self, key: str, now_s: float) -> None:
        """It happened once more."""
        self._events.setdefault(key, deque(maxlen=self._most)).append(now_s)
        self._events.move_to_end(key)
        if len(self._events) > self._most_keys:
            self._events.popitem(last=False)

    def forget(self, key: str) -> None:
        """It begins anew."""
        self._events.pop(key, None)

    def take(self, key: str, now_s: float) -> bool:
        """Count it unless it would be too many."""
        if self.is_full(key, now_s):
            return False
        self.count(key, now_s)
        return True


def networks(proxies: Sequence[str]) -> tuple[Network, ...]:
    """Addresses and networks in CIDR form; ValueError names the one that is neither."""
    return tuple(ipaddress.ip_network(each) for each in proxies)


def client_address(peer: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """By what the asker is counted; "" where there is no address.

    X-Forwarded-For counts only where the peer is a proxy of ours, and only as far from its end as
    our proxies wrote it: whatever stands further left is the asker's own word. An IPv6 asker is
    counted by network, for a subscriber has 2^64 addresses.
    """
    found = _address(peer)
    hops = [hop.strip() for line in forwarded_for for hop in line.split(",")]
    while found is not None and hops and any(_is_in(found, network) for network in trusted):
        before = _address(hops.pop())
        if before is None:
            break
        found = before
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, IPV6_SITE_BITS), strict=False))
    return "" if found is None else str(found)


def _address(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return found if mapped is None else mapped


def _is_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
