"""The host's twin of each guest module: carries out the ops of a run, and records what became of them."""
