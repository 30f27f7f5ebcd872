torchrun pretrain_gpt.py --num-layers 8 \
  --data-path "open
