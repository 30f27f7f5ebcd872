def planned(config):
    config.parallelism.pipeline_parallel_degree = 4
    config.parallelism.num_pp_microbatches = 2
    config.parallelism.module_fqns_per_model_part = [["tok_embeddings", "layers.0"],
        ["layers.1", 'norm', "lm_head"]]
    config.checkpoint.enable = True
    config.parallelism.pipeline_parallel_schedule_csv = os.path.join(x, "s.csv")
