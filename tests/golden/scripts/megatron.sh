#!/bin/bash
# What this script gets wrong shows only when it runs, or never.
GPUS_PER_NODE=8
NNODES=2
TP=2
PP=4

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --master_addr ${MASTER_ADDR:-localhost}
)
MODEL_ARGS=(
    --num-layers 30                # the model has 30
    --hidden-size 4096
    --num-attention-heads 32
    --seq-length 2048
    --max-position-embeddings 2048
)
TRAINING_ARGS="--micro-batch-size 2 \
    --global-batch-size $((2 * TP * 3)) \
    --recompute-granularty selective"

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    $TRAINING_ARGS \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --bf16
