"""Which IP addresses belong to the public internet; everything else is somebody's inside."""

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

# IANA's special-purpose registries, and more: whatever is not ordinary unicast is refused
_NOT_PUBLIC_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network; the kernel takes 0.0.0.0 for loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT, and a cloud's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's own agent behind a public-looking address
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")  # how all of IPv4 looks in networks that have IPv6 alone
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # upper half of an interface id; IPv4 below it


def is_public(address: str) -> bool:
    """Whether a connection to `address` leaves for the public internet.

    Only the plain spelling of an address counts: names, zones (`%eth0`), octal, hexadecimal and
    shortened numbers do not. An IPv6 address that carries an IPv4 one is judged by that one.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    return parsed.scope_id is None and _is_public_v6(parsed)


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in block for block in _NOT_PUBLIC_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    if address in _MAPPED or address in _NAT64:
        return _is_public_v4(_lowest_bits(address))
    if address not in _UNICAST_V6 or any(address in block for block in _NOT_PUBLIC_V6):
        return False
    is_tunnel = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return not is_tunnel or _is_public_v4(_lowest_bits(address))


def _lowest_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
