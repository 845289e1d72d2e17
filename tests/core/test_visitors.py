"""Visitors' tokens, the address they are counted by, and how often is too often."""

import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.visitors import (
    VALID_FOR,
    Place,
    Windows,
    client_address,
    issue,
    networks,
    verify,
)

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
KEY, ID, HERE = b"k" * 32, "A" * 43, Place("site", "helper")
TOKEN = issue(ID, HERE, KEY, NOW)


def test_a_token_tells_the_visitor_until_it_ends() -> None:
    found = verify(TOKEN, HERE, KEY, NOW)
    assert found is not None
    assert (found.id, found.expires_at) == (ID, NOW + VALID_FOR)
    assert verify(TOKEN, HERE, KEY, NOW + VALID_FOR - timedelta(seconds=1)) == found
    assert verify(TOKEN, HERE, KEY, NOW + VALID_FOR) is None


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (Place("site", "other"), KEY),
        (Place("other", "helper"), KEY),
        (Place("helper", "site"), KEY),
        (Place("site\nhelper", ""), KEY),
        (HERE, b"K" * 32),
        (HERE, b""),
    ],
)
def test_a_token_holds_nowhere_else(place: Place, key: bytes) -> None:
    assert verify(TOKEN, place, key, NOW) is None


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from(string.printable + "é０\0"))
def test_no_bent_token_is_anybodys(at: int, letter: str) -> None:
    bent = TOKEN[:at] + letter + TOKEN[at + 1 :]
    assert (verify(bent, HERE, KEY, NOW) is None) is (bent != TOKEN)


@given(st.text(max_size=200))
def test_no_made_up_token_is_anybodys_and_none_raises(token: str) -> None:
    assert verify(token, HERE, KEY, NOW) is None
    assert verify(f"{TOKEN}{token}", HERE, KEY, NOW) is None or token == ""


PROXIES = networks(["10.0.0.0/8", "192.0.2.7", "fd00::/8"])
ADDRESSES = [
    ("no proxy", "203.0.113.5", [], "203.0.113.5"),
    ("somebody who claims to be one", "203.0.113.5", ["198.51.100.1"], "203.0.113.5"),
    ("our proxy", "10.1.2.3", ["203.0.113.5"], "203.0.113.5"),
    ("two of them", "10.1.2.3", ["203.0.113.5, 192.0.2.7"], "203.0.113.5"),
    ("two headers", "10.1.2.3", ["203.0.113.5", "192.0.2.7"], "203.0.113.5"),
    ("an address put before", "10.1.2.3", ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
    ("our own address put before", "10.1.2.3", ["10.9.9.9, 203.0.113.5"], "203.0.113.5"),
    ("nothing said", "10.1.2.3", [], "10.1.2.3"),
    ("nonsense said", "10.1.2.3", ["unknown"], "10.1.2.3"),
    ("nonsense before", "10.1.2.3", ["\0é, 203.0.113.5"], "203.0.113.5"),
    ("all ours", "10.1.2.3", ["10.0.0.1"], "10.0.0.1"),
    ("IPv6 by network", "2001:db8:1:2:aaaa::1", [], "2001:db8:1:2::/64"),
    ("IPv6 behind a proxy", "fd00::1", ["2001:db8:1:2:bbbb::9"], "2001:db8:1:2::/64"),
    ("IPv4 in IPv6", "::ffff:203.0.113.5", [], "203.0.113.5"),
    ("our proxy in IPv6", "::ffff:10.1.2.3", ["203.0.113.5"], "203.0.113.5"),
    ("a zone", "fe80::1%eth0", [], "fe80::/64"),
    ("no address", "", ["203.0.113.5"], ""),
]


@pytest.mark.parametrize(("name", "peer", "forwarded", "counted"), ADDRESSES)
def test_the_address_is_what_our_own_proxies_say(
    name: str, peer: str, forwarded: list[str], counted: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == counted, name


@given(st.text(), st.lists(st.text()))
def test_odd_addresses_never_raise(peer: str, forwarded: list[str]) -> None:
    for each in (peer, "10.1.2.3"):
        client_address(each, forwarded, PROXIES)


@pytest.mark.parametrize("odd", ["10.0.0.1/8", "proxy.example", "", "10.0.0.0/33"])
def test_what_is_no_network_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match=r"does not appear|has host bits"):
        networks([odd])


@given(st.integers(1, 5), st.lists(st.floats(0.0, 3.0), max_size=60))
def test_never_more_than_so_many_within_any_window(most: int, pauses: list[float]) -> None:
    windows, now, taken = Windows(most, 10.0), 0.0, []
    for pause in pauses:
        now += pause
        if windows.take("a", now):
            taken.append(now)
        else:
            assert sum(now - 10.0 < each for each in taken) == most
    for first, after in zip(taken, taken[most:], strict=False):
        assert after - first >= 10.0


def test_keys_are_counted_apart_and_the_least_recent_are_forgotten() -> None:
    windows = Windows(1, 10.0, most_keys=2)
    assert windows.take("a", 0.0)
    assert windows.take("b", 1.0)
    assert not windows.take("a", 2.0)
    assert windows.take("c", 3.0)
    assert windows.take("a", 4.0)
    assert not windows.take("c", 4.0)
