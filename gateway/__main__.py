"""The command line: `shutten …`."""

import asyncio
import errno
import logging
import sys
from pathlib import Path

from gateway import home as homes
from gateway.commands.output import complain
from gateway.commands.parser import parser
from gateway.errors import GatewayError, StoreError


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
    except OSError as error:  # of a file or folder of the home: read-only, full, not a folder
        return complain(options, _surroundings(error))
    return code


def _surroundings(error: OSError) -> GatewayError:
    """What the file system refused, as an error with a sentence."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return StoreError(str(error), code="store_full")
    return homes.unusable(Path(error.filename or "shutten"), error)


def _log_to_stderr(*, quiet: bool) -> None:
    import structlog  # noqa: PLC0415 - help and bad usage should not wait for it

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
        cache_logger_on_first_use=not quiet,  # a command that says little ends before it pays
    )


if __name__ == "__main__":
    sys.exit(main())
