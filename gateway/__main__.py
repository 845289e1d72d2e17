"""The command line: `shutten …`."""

import asyncio
import logging
import sys

import structlog

from gateway.commands.output import complain
from gateway.commands.parser import parser
from gateway.errors import GatewayError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 done, 1 failed, 2 bad usage."""
    options = parser().parse_args(arguments)
    _log_to_stderr(quiet=options.command != "serve" and not options.verbose)
    try:
        code: int = asyncio.run(options.run(options))
    except GatewayError as error:
        return complain(options, error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    return code


def _log_to_stderr(*, quiet: bool) -> None:
    level = logging.WARNING if quiet else logging.INFO
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    sys.exit(main())
