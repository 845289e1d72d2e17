"""HTTP: RPC, webhooks, upload, web chat, health."""
