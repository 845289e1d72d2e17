"""Signed-in web chat: frames over a WebSocket of our own page.

signature check: the session is checked by the gateway, which seals each message for parse
redelivery: the frame's id, within the account; a repeated answer carries the same turn id
ordering: one lane per conversation of an account
splitting unit: code points, one part of 100,000
rate limit: none of a platform; frames are counted per socket
group identity: always one account alone; no groups
footer: none in the text, the final frame carries the citations
known limits: deltas to a slow socket are left out; attachments are not read yet
"""
