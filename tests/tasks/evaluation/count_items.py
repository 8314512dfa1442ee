"""Worker of test_processes.py: scores items of which item 0 is right, items 5 and 6 are wrong, the rest right."""

import json
import sys

from tasks.evaluation.processes import map_batches, process_state
from tasks.metrics import mean


def evaluate(n):
    seen = []

    def compute(batch):
        seen.extend(batch)
        return [(item, float(item not in (5, 6))) for item in batch]

    lengths = [3 + item % 4 for item in range(n)]
    results = map_batches(compute, lengths, batch_tokens=12, description="items")
    accuracy = mean([right for _, right in results])
    return {"items": [item for item, _ in results], "n": accuracy.n, "accuracy": accuracy.value, "mine": len(seen)}


state = process_state()
report = {str(n): evaluate(n) for n in (7, 8, 9, 1, 0)}
if state.is_main_process:
    with open(sys.argv[1], "w") as file:
        json.dump({"processes": state.num_processes, "sets": report}, file)
state.destroy_process_group()
