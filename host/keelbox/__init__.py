"""Keelbox: a sandboxed tool-script host for language-model agents."""
