"""Connects to the very addresses that were looked at, so that no name means two things."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.errors import GatewayError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # host, port -> addresses
MayConnect = Callable[[str, int], bool]  # address, port


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def pinned_connector(
    may_connect: MayConnect, resolve: Resolve, refused: Callable[[], GatewayError]
) -> aiohttp.TCPConnector:
    """Resolves for each request, and only to what `may_connect`; raises `refused()` else.

    The address is looked at once more where the socket is made, whatever led there.
    """

    def checked(info: aiohttp.AddrInfoType) -> socket.socket:
        if not may_connect(str(info[4][0]), int(info[4][1])):
            raise OSError("not a public address")
        return socket.socket(info[0], info[1], info[2])

    return aiohttp.TCPConnector(
        resolver=_Pinned(may_connect, resolve, refused),
        use_dns_cache=False,
        force_close=True,
        socket_factory=checked,
    )


class _Pinned(AbstractResolver):
    """Gives the addresses it has looked at, so that nothing is resolved a second time."""

    def __init__(
        self, may_connect: MayConnect, resolve: Resolve, refused: Callable[[], GatewayError]
    ) -> None:
        self._may_connect = may_connect
        self._resolve = resolve
        self._refused = refused

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """One address that is not allowed spoils the name: it may be next time's answer."""
        found = await self._resolve(host, port)
        if not found:
            raise OSError(f"no address for {len(host)} characters of host")
        if not all(self._may_connect(address, port) for address in found):
            raise self._refused()
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in found
        ]

    async def close(self) -> None:
        """Nothing is held."""
