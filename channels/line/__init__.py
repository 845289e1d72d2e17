"""LINE: signed webhooks in, the official SDK out.

signature check: base64 HMAC-SHA256 of the raw body, compared in constant time
redelivery: webhookEventId and message.id, each known for fourteen days
ordering: one lane per user, group or room
splitting unit: UTF-16 code units, 5,000 a message, 5 messages a call
rate limit: 429 waits as told; a used-up monthly quota is a dead letter
group identity: 1:1 only for source.type user with a userId; no userId means no sender
footer: 1,200 units
known limits: plain text; a reply killed in mid-send stays unknown; a file is kept, not answered
"""
