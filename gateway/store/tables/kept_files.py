"""The tables of files that hold documents' text or pictures beside the library."""

from sqlalchemy import Boolean, Column, Index, Integer, Table, Text

from gateway.store.tables import KNOWLEDGE

page_files = Table(  # pictures in agents' workspaces; a row outlives its file for a while
    "page_files",
    KNOWLEDGE,
    Column("agent_id", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("page", Integer, primary_key=True),
    Column("namespace", Text, nullable=False),
    Column("path", Text, nullable=False),  # within the workspace
    Column("sha256", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("is_there", Boolean, nullable=False),
)
Index("ix_page_files_sha256", page_files.c.agent_id, page_files.c.sha256)
Index("ix_page_files_path", page_files.c.agent_id, page_files.c.path)

answer_files = Table(  # logs/raw: which documents an answer quotes
    "answer_files",
    KNOWLEDGE,
    Column("name", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("at", Integer, nullable=False, index=True),
)
