"""Slack: signed events or Socket Mode in, the official SDK out.

signature check: X-Slack-Signature v0 HMAC-SHA256 of the raw body, five minutes in constant time
redelivery: event_id and team, channel and ts, each known for fourteen days
ordering: one lane per direct chat, per thread in a channel
splitting unit: UTF-16 code units after & < > are escaped, 3,900 a message, 1 message a call
rate limit: one message a second and chat with a small burst; 429 silences the chat as told
group identity: 1:1 only for channel_type im with a user of our own workspace
footer: 1,200 units
known limits: one workspace an account; a post that may have arrived is looked up, else unknown
"""
