"""A website's live chat (Odoo and the like): a relay there posts to us, and we post back to it.

signature check: v1= hex HMAC-SHA256 over version, time and raw body, five minutes either way
redelivery: event_id, and session_id with message_id, each known for fourteen days
ordering: one lane per live chat session
splitting unit: code points, 20,000, one call
rate limit: 429 waits as told
group identity: never 1:1, never anybody's; visitors read public collections alone
footer: 1,200 units
known limits: plain text, no files; the relay must know a repeated Idempotency-Key
"""
