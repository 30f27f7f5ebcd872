python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' data.train_batch_size=64 \
  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 trainer.nnodes=2 \
  actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 \
  actor_rollout_ref.actor.use_dynamic_bsz=False
