"""Telegram: a webhook with a secret or long polling in, python-telegram-bot out.

signature check: the secret token of the webhook, compared in constant time; polling needs none
redelivery: update_id and chat:message_id, each known for fourteen days
ordering: one lane a chat, or a topic of a forum
splitting unit: UTF-16 code units, 4,096 a message, one message a call, 8 calls a reply
rate limit: 1 message a second and chat, 20 a minute in groups, 30 a second in all; 429 as told
group identity: 1:1 only for a person's own private chat; sender_chat or business: no sender
footer: 1,200 units
known limits: plain text; a message killed in mid-send stays unknown; files to 20 MB
"""
