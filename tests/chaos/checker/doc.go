// Command checker reads what the clients of a server noted and what its model wrote down, and says which of the
// server's promises were broken. It knows nothing else of the server, and imports nothing of it.
//
//	checker -slots 4 journal.jsonl ledger.txt
//	checker -batch 8 journal.jsonl ledger.txt
//
// Its exit code is 0 if all held, 1 where one did not, 2 where it could not decide.
//
// It proves of each prediction:
//
//   - It has one terminal state, the same in its answer, its webhooks and every later look; one that
//     was refused, or never taken, has none and was never run.
//   - The model began it once at most; where it succeeded, exactly once, and did it to its end.
//   - What it was answered, its logs included, is its own: it carries the token of its input.
//   - Where it failed without the model's wish, the model had it in a worker that was harmed; a worker's death costs
//     as many as it has slots, and where it wrote rubbish, those behind the rubbish too.
//   - It was canceled only where that was asked for, or its client left.
//   - The items of a batch (-batch) have one key, and there are no more than allowed. What raises is tried again in
//     halves, and fails alone; no batch raises unless an item was to. An item of a batch whose worker was harmed is
//     tried once more, in another worker and alone, and fails where that is harmed too; a death sets back as many as a
//     batch may have, and costs one. Each answer names the size of its batch, and its logs are those of its batch.
//   - The model did not have it for less time than it slept over it, or longer than its client waited, at any
//     time of day that the server believes in.
//   - Its webhook took completed in once, and nothing after that.
//   - Few that came after it began before it.
package main
