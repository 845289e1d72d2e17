"""Grants as rows; what cannot be read as a grant is void (FEATURES A2)."""

from collections.abc import Iterable, Iterator

from sqlalchemy import insert

from gateway.core.access import Grant, Role, SubjectKind
from gateway.store.statements import Row, Statement
from gateway.store.tables.people import grants

GRANT_COLUMNS = (
    grants.c.collection_id,
    grants.c.subject_kind,
    grants.c.subject_id,
    grants.c.role,
)
INSERT_GRANT = Statement(
    insert(grants), columns=["collection_id", "subject_kind", "subject_id", "role"]
)
_KINDS = {kind.value: kind for kind in SubjectKind}
_ROLES = {role.value: role for role in Role}


def grants_of(rows: Iterable[Row]) -> Iterator[Grant]:
    """Rows of GRANT_COLUMNS; broken ones are left out, so that they allow nothing."""
    for collection_id, kind_text, subject_id, role_text in rows:
        kind, role = _KINDS.get(kind_text), _ROLES.get(role_text)
        if kind is not None and role is not None:
            yield Grant(collection_id, kind, subject_id, role)
