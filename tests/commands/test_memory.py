"""Plans to forget from the command line: planned with a deletion, applied once approved."""

import pytest

from tests.commands.conftest import CommandLine

pytestmark = pytest.mark.timeout(300)  # processes, each a start of its own


def test_a_plan_is_listed_and_waits_for_an_admin(stocked: CommandLine) -> None:
    question = "到職滿一年的特休有幾天？"
    asked = stocked.ok("ask", question, "--agent", "helper", "--as", "anna", "--json")
    assert asked.json["citations"]
    [source] = stocked.ok("knowledge", "sources", "handbook", "--as", "admin", "--json").json
    removing = ("knowledge", "remove", source["id"], "--forget", "--as", "admin", "--json")
    removed = stocked.ok(*removing).json
    assert removed == {"removed": source["id"], "plans": 1, "turns": 1, "skipped": 0}
    again = stocked(*removing)
    assert (again.code, "not_found" in again.err) == (1, True)
    [plan] = stocked.ok("memory", "forget-source", "list", "--json").json
    assert (plan["state"], plan["turns"], plan["title"]) == ("pending", 1, "員工手冊.md")
    refused = stocked("memory", "forget-source", "apply", plan["id"])
    assert (refused.code, "not_approved" in refused.err) == (1, True)
    approved = ("memory", "forget-source", "list", "--state", "approved", "--json")
    assert stocked.ok(*approved).json == []
    missing = stocked("memory", "forget-source", "apply", "none")
    assert (missing.code, "not_found" in missing.err) == (1, True)
