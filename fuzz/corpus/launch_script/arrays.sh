A=(--num-layers 30 # x
  --micro-batch-size $((2 * 1)))
B="${A[@]} --global-batch-size ${GBS:-64}"
if [ "$1" ]; then A+=(--bf16); B="$B --x"; fi
for i in 1 2; do echo $i > log 2>&1; done
cat <<EOF
text 'open
EOF
torchrun --nproc_per_node=8 --nnodes $N pretrain_gpt.py $B "${A[@]}" \
  --pipeline-model-parallel-layout "E(t*2|)*3,t*24|mL" --mtp-num-layers 1 "$@"
