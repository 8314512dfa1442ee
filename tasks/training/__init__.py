"""Training that every task family and every script shares: arguments, batches, schedule, run folder, loop."""
