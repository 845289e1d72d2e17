"""Discord: the gateway socket in, the REST API out, both by discord.py.

signature check: what the socket brings carries this process's own seal; no webhook is taken
redelivery: the message id; RESUME and the look back over a gap bring the same ids again
ordering: one lane per channel, thread or direct chat
splitting unit: code points, 2,000 a message, one message a call
rate limit: 5 calls in 5 s a channel, 50 a second in all; a 429 holds as long as it says
group identity: 1:1 only by channel_type 1 of a person's own message; ephemeral has no sender
footer: 600 code points, Markdown signs full-width
known limits: no interactions; after two minutes a repeat is told by what the channel holds
"""
