"""Who may be reached, and how a request gets there. The way out of a run is `keelbox.ops.http.HttpOps`."""
