"""Which addresses are public: a table of each kind, and properties over all of them."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.addresses import is_public

V4_INSIDE = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
]  # fmt: skip
V6_INSIDE = [
    "::/8", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    "4000::/3", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


def within(block: str) -> st.SearchStrategy[str]:
    network = IPv4Network(block) if "." in block else IPv6Network(block)
    first, last = int(network.network_address), int(network.broadcast_address)
    kind = type(network.network_address)
    return st.integers(first, last).map(lambda number: str(kind(number)))


v4_inside = st.sampled_from(V4_INSIDE).flatmap(within)
v6_inside = st.sampled_from([b for b in V6_INSIDE if b != "::/8"]).flatmap(within)
any_v4 = st.integers(0, 2**32 - 1).map(IPv4Address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8", "1.1.1.1", "192.30.252.1", "172.15.255.255", "172.32.0.1", "100.63.255.255",
        "100.128.0.1", "169.253.1.1", "11.0.0.1", "223.255.255.255", "192.0.1.1", "198.17.0.1",
        "147.92.150.192", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ],
)  # fmt: skip
def test_ordinary_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "169.254.169.254", "100.100.100.200", "192.0.0.192", "10.0.0.1",
        "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1",
        "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "2002:7f00:1::1",
        "2002:a9fe:a9fe::1", "2001:0:7f00:1::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
        "2001:4860:4860::8888%eth0", "ff02::1", "2a00:1450::5efe:10.0.0.1",
        "2a00:1450::200:5efe:192.168.0.1",
    ],
)  # fmt: skip
def test_inside_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "spelling",
    [
        "", "localhost", "example.com", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "8.8.8",
        "134744072", "008.8.8.8", "8.8.8.8 ", "8.8.8.8.", "8.8.8.8/32", "[::1]",
        "[2606:4700:4700::1111]", "１２７.0.0.1", "8。8。8。8", "8.8.8.8\n",
    ],
)  # fmt: skip
def test_odd_spellings_are_not_public(spelling: str) -> None:
    assert not is_public(spelling)


@given(v4_inside)
def test_no_inside_ipv4_address_is_public_in_any_disguise(address: str) -> None:
    number = int(IPv4Address(address))
    disguises = [
        address,
        str(IPv6Address(0xFFFF << 32 | number)),  # mapped
        f"::ffff:{address}",
        str(IPv6Address(number)),  # compatible
        str(IPv6Address(0x64FF9B << 96 | number)),  # NAT64
        str(IPv6Address(0x2002 << 112 | number << 80 | 1)),  # 6to4
        str(IPv6Address(0x20010000 << 96 | number << 64)),  # Teredo, as its server
        str(IPv6Address(0x20010000 << 96 | (number ^ 0xFFFFFFFF))),  # Teredo, as its client
        str(IPv6Address((0x2A001450 << 96) | (0x5EFE << 32) | number)),  # ISATAP
    ]
    assert [each for each in disguises if is_public(each)] == []


@given(v6_inside)
def test_no_inside_ipv6_address_is_public(address: str) -> None:
    assert not is_public(address)


@given(any_v4)
def test_what_the_library_calls_private_is_never_public(address: IPv4Address) -> None:
    kinds = [
        address.is_private,
        address.is_loopback,
        address.is_link_local,
        address.is_multicast,
        address.is_reserved,
        address.is_unspecified,
    ]
    assert not (is_public(str(address)) and any(kinds))


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_a_public_ipv6_address_is_global_unicast(address: IPv6Address) -> None:
    if is_public(str(address)) and address.ipv4_mapped is None:
        assert address in IPv6Network("2000::/3") or address in IPv6Network("64:ff9b::/96")


@given(any_v4)
def test_a_mapped_address_is_judged_by_what_it_maps(address: IPv4Address) -> None:
    assert is_public(f"::ffff:{address}") == is_public(str(address))


@given(any_v4)
def test_most_of_ipv4_is_public(address: IPv4Address) -> None:
    inside = any(ip_address(address) in IPv4Network(block) for block in V4_INSIDE)
    reserved = any(
        address in IPv4Network(block)
        for block in ("192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24")
    )
    assert is_public(str(address)) == (not inside and not reserved)


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert is_public(text) in {True, False}
