NGPU=8 ./run_train.sh --parallelism.pipeline_parallel_degree=4 \
  --parallelism.pipeline_parallel_schedule=Interleaved1F1B \
  --training.local_batch_size=$BATCH --parallelism.tensor_parallel_degree=$TP "$@"
