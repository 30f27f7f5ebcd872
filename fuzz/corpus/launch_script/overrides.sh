for C in "2,1"; do
  IFS=',' read -r TP PP <<< "$C"
  CMD="python run_recipe.py --recipe x train.global_batch_size=30 train.micro_batch_size=4"
  CMD="$CMD model.tensor_model_parallel_size=$TP ++model.pipeline_model_parallel_size=2"
  srun bash -c "$CMD"
done
worker=$(cat <<- EOM
  python setup_experiment.py --num_gpus 64 --tensor_model_parallel_size 1 \
    --pipeline_model_parallel_layout 'Et*2|(t|)*14tL'
EOM
)
