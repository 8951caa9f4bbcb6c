"""The wall: runs a script in a sandbox and knows nothing of conversations, models or policy."""
