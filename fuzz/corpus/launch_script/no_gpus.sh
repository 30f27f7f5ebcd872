#!/bin/bash
NGPU=0
torchrun train.py --job.config_file x.toml --parallelism.pipeline_parallel_degree=4 --training.local_batch_size=8 --training.global_batch_size=64
