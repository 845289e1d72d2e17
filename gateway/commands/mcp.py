"""`mcp`: an agent's tools for a program that speaks MCP over this process's stdin and stdout."""

import argparse
import asyncio
from pathlib import Path

from gateway import home as homes
from gateway.commands.output import BAD_USAGE, DONE, FAILED, complain, language, say
from gateway.commands.tree import Commands
from gateway.config import environment, home_folder
from gateway.errors import GatewayError, InvalidRequestError

TOKEN_VARIABLE = "SHUTTEN_TOKEN"  # noqa: S105 - the variable's name


def register(commands: Commands) -> None:
    """Add this command."""
    command = commands.add("mcp", serve_stdio)
    command.add_argument("--agent", required=True, help=say("opt_mcp_agent"))
    command.add_argument("--token-file", metavar="FILE", help=say("opt_token_file"))


async def serve_stdio(options: argparse.Namespace) -> int:
    """Until the program closes our stdin; the run ends with this process."""
    home = home_folder(options.home)
    homes.require(home)
    token = _token(options.token_file)
    if not token:
        reason = f"--token-file / {TOKEN_VARIABLE}"
        complain(options, InvalidRequestError("no token", reason=reason))
        return BAD_USAGE
    from gateway.commands.mcp_link import RunLink  # noqa: PLC0415 - help should not wait for these
    from gateway.surfaces.mcp_wire import Hello  # noqa: PLC0415

    link = RunLink(home, Hello(options.agent, token, language()))
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(link.keep())
        try:
            await link.begun()
            from gateway.surfaces.mcp_stdio import StdioServer  # noqa: PLC0415 - the SDK is heavy

            server = StdioServer(link)
            link.changed = server.changed
            await server.run()
        except GatewayError as error:  # the token or the agent: nothing that waiting would mend
            complain(options, error)
            return FAILED
        finally:
            keeping.cancel()
    return DONE


def _token(file: str | None) -> str | None:
    if file is None:
        return environment(TOKEN_VARIABLE)
    return Path(file).read_text("utf-8").strip()
