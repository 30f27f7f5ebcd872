#!/bin/bash
SLURM_NNODES=0
SLURM_GPUS_PER_NODE=8
srun python pretrain_gpt.py --num-layers 24 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 64
