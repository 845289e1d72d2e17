"""Tables of inbox.db: messages that came in, calls we owe, and keys seen before."""

from sqlalchemy import Column, Index, Integer, LargeBinary, Table, Text

from gateway.store.tables import INBOX

inbox = Table(
    "inbox",
    INBOX,
    Column("seq", Integer, primary_key=True),  # order of arrival
    Column("id", Text, nullable=False, unique=True),  # also the turn's id
    Column("lane", Text, nullable=False),
    Column("state", Text, nullable=False),  # waiting | running | busy | done
    Column("payload", LargeBinary),  # the message as JSON; NULL once answered
    Column("received_at", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),  # claims that were not given back unharmed
    Column("failures", Integer, nullable=False),
    Column("claimed_by", Text),
    Column("claimed_until", Integer),
    Column("answered_at", Integer),
    Column("preview", Text),  # the platform's id of the message that shows the draft
    Column("is_retracted", Integer, nullable=False, server_default="0"),  # unsent by its sender
    sqlite_autoincrement=True,
)
Index(
    "ix_inbox_open_lane",
    inbox.c.lane,
    inbox.c.state,
    inbox.c.seq,
    sqlite_where=inbox.c.state != "done",
)
Index("ix_inbox_open", inbox.c.state, inbox.c.seq, sqlite_where=inbox.c.state != "done")
Index("ix_inbox_retracted", inbox.c.id, sqlite_where=inbox.c.is_retracted == 1)
Index("ix_inbox_answered_at", inbox.c.answered_at, sqlite_where=inbox.c.state == "done")

dedupe = Table(
    "dedupe",
    INBOX,
    Column("account", Text, primary_key=True),  # channel and our account on it
    Column("key", Text, primary_key=True),  # "d:" delivery id or "m:" message identity
    Column("at", Integer, nullable=False),
    Column("row_id", Text),  # the inbox row that first brought the key
    Index("ix_dedupe_at", "at"),
    sqlite_with_rowid=False,
)

outbox = Table(
    "outbox",
    INBOX,
    Column("seq", Integer, primary_key=True),  # order of sending within a lane
    Column("id", Text, nullable=False, unique=True),
    Column("turn_id", Text, nullable=False, index=True),
    Column("call_seq", Integer, nullable=False),
    Column("lane", Text, nullable=False),
    Column("conversation", LargeBinary, nullable=False),
    Column("state", Text, nullable=False),  # pending | sending | sent | unknown | dead
    Column("payload", LargeBinary),  # parts and extra as JSON; NULL once wiped
    Column("reply_handle", LargeBinary),
    Column("method", Text),
    Column("idempotency_key", Text, nullable=False),
    Column("created_at", Integer, nullable=False),
    Column("due_at", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("claimed_by", Text),
    Column("claimed_until", Integer),
    Column("finished_at", Integer),
    sqlite_autoincrement=True,
)
Index(
    "ix_outbox_unsent_lane",
    outbox.c.lane,
    outbox.c.seq,
    sqlite_where=outbox.c.state.in_(("pending", "sending")),
)
Index("ix_outbox_state", outbox.c.state, outbox.c.seq)
