"""Every operation, asked by everybody for a thing of their own, another's and none at all."""

from datetime import timedelta
from pathlib import Path

import pytest

from gateway import home as homes
from gateway.interfaces import Act
from gateway.operations.table import Operation, Permission
from gateway.surfaces.rest import shown
from tests.proof.matrix import ENTER, ROWS, Row
from tests.proof.premises_of_calls import (
    ACTING,
    ADMIN,
    BELOW,
    FOREIGN,
    MEMBER,
    MISSING,
    NOBODY,
    OPERATOR,
    OWN,
    ROLES,
    Answer,
    Place,
    Premises,
    premises,
)
from tests.surfaces.serving import CONFIG

TRIES = 3  # the ingestion may look for work in the midst of one


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    homes.make(folder)
    (folder / "config.toml").write_text(CONFIG, "utf-8")
    return folder


async def test_every_operation_has_its_row(home: Path) -> None:
    async with premises(home) as here:
        declared = {each.name for each in here.app.registry.rows()}
    assert not declared - ROWS.keys(), "add a row to ROWS of tests/proof/matrix.py"
    assert not ROWS.keys() - declared, "rows of operations that are gone"


@pytest.mark.parametrize("role", ROLES)
async def test_who_may_do_what_and_what_is_missing_looks_like_what_is_forbidden(
    home: Path, role: str
) -> None:
    wrong: list[str] = []
    async with premises(home) as here:
        for operation in here.app.registry.rows():
            for n, row in enumerate(ROWS.get(operation.name, ())):
                said = {
                    case: await asked(here, operation, row, role, case) for case in row.cases(role)
                }
                told = await judged(here, operation, row, role, said)
                wrong += [f"{operation.name} [{n}]: {each}" for each in told]
    assert not wrong, "\n".join(wrong)


async def test_a_key_of_an_agent_opens_no_operation_of_an_account(home: Path) -> None:
    async with premises(home) as here:
        owner = await here.person(ADMIN)
        place = Place(here, ADMIN, OWN, owner, owner, None)
        by = Act(owner.id, here.app.clock.now())
        key, secret = here.app.sign_in.agent_key(await place.agent(), "x", timedelta(days=1), by)
        await here.app.store.agent_keys.add(key, 1, by)
        for operation in shown(here.app.registry.rows()):
            answer = await here.client.post(
                f"/api/operations/{operation.name}", json={}, headers={"X-API-Key": secret}
            )
            is_open = operation.needs is Permission.ANYONE
            assert (answer.status, operation.name) == (200 if is_open else 401, operation.name)


async def asked(here: Premises, operation: Operation, row: Row, role: str, case: str) -> Answer:
    me = None if role in (NOBODY, OPERATOR) else await here.person(_account_role(role))
    place = Place(here, role, case, me, await here.person(MEMBER), row.least)
    params = dict(await row.params(place))
    return await here.ask(role, me, operation.name, params)


def _account_role(role: str) -> str:
    return MEMBER if role == ACTING else role


async def judged(
    here: Premises, operation: Operation, row: Row, role: str, said: dict[str, Answer]
) -> list[str]:
    wrong = []
    for case, answer in said.items():
        expected = row.expected(operation.needs, role, case)
        if answer.code != expected:
            wrong.append(f"{case} is {answer.code}, should be {expected}")
    wrong += [
        f"{case} left {said[case].denials} refusals in the log"
        for case in _refused(operation, row, role)
        if said[case].denials != int(row.logged)
    ]
    alike = [case for case in (FOREIGN, BELOW) if _is_blank(operation, row, role, case)]
    for case in alike:
        if said[case].body != said[MISSING].body:
            wrong.append(f"{case} {said[case].body!r}, missing {said[MISSING].body!r}")
        if not await _same_way(here, operation, row, role, case, said):
            wrong.append(f"{case} and missing take different ways through the store")
    return wrong


def _refused(operation: Operation, row: Row, role: str) -> list[str]:
    """Where somebody with an account came in and was refused the thing."""
    if role in (NOBODY, OPERATOR) or role not in ENTER[operation.needs] or not row.names:
        return []
    return [case for case in (FOREIGN, MISSING) if _is_blank(operation, row, role, case)]


def _is_blank(operation: Operation, row: Row, role: str, case: str) -> bool:
    """Whether the thing has to look as if there were none."""
    if case not in row.cases(role):
        return False
    return role not in row.over and row.expected(operation.needs, role, case) == row.expected(
        operation.needs, role, MISSING
    )


async def _same_way(
    here: Premises, operation: Operation, row: Row, role: str, case: str, said: dict[str, Answer]
) -> bool:
    for _ in range(TRIES):
        one, other = (
            await asked(here, operation, row, role, case),
            await asked(here, operation, row, role, MISSING),
        )
        if one.statements == other.statements:
            return True
    return False


async def test_the_own_thing_is_found_so_the_rows_ask_what_they_mean_to(home: Path) -> None:
    async with premises(home) as here:
        for operation in here.app.registry.rows():
            for row in ROWS.get(operation.name, ()):
                if not row.names or row.blank != "done" or not row.least:
                    continue
                own = await asked(here, operation, row, MEMBER, OWN)
                assert own.body != (await asked(here, operation, row, MEMBER, FOREIGN)).body
