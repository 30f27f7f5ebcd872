torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 8192 \
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \
  --micro-batch-size 4 --global-batch-size 64 --bf16
