"""What the wall costs: fresh runs, memory, throughput and compute, with the peers beside us."""
