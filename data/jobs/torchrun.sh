#!/bin/sh
# On every node, with the address of the first one: a job of one to four nodes. When a node is lost
# or comes, torchrun starts all ranks again, and they go on from the newest checkpoint by the book's
# plan for the ranks that there are.
#
#   sh torchrun.sh first-node:29400
exec torchrun --nnodes=1:4 --nproc-per-node=8 --max-restarts=100 \
  --rdzv-backend=c10d --rdzv-id=penstock --rdzv-endpoint="$1" --no-python \
  penstock train --book book.json --device cuda --transport nccl \
  --data 'tokens/*.bin' --dtype uint16 --steps 100000 --log run.jsonl \
  --checkpoints checkpoints --checkpoint-every auto --resume-if-any
