"""The public widget: visitors of a website, by frames over a WebSocket of our own page.

signature check: the visitor's token is checked by the gateway, which seals each message for parse
redelivery: the frame's id, within the visitor; a repeated answer carries the same turn id
ordering: one lane per visitor
splitting unit: code points, one part of 100,000
rate limit: none of a platform; questions are counted per visitor and per address
group identity: never 1:1, never anybody's; visitors read public collections alone
footer: none in the text, the final frame carries titles, locators and excerpts
known limits: no files; deltas to a slow socket are left out; one widget for each agent
"""
