"""Runs a trainer's own configuration code on exported jobs, for tools/try_exports.py.

    trainer_code.py WORKER CLONE[:CLONE] < jobs.json

Prints one line "VERDICT {}" per job, with "error" where the trainer refuses it or reads something
else than the plan says.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import traceback
import types
import typing

import stand_ins

PACKAGES = ["packaging", "torch", "numpy", "tyro", "pydantic", "hjson", "einops", "transformers",
            "tqdm", "triton", "spmd_types", "torch_checkpointing", "grain", "datasets", "tokenizers",
            "PIL", "torchdata", "torchvision", "torchao", "psutil", "cpuinfo", "msgpack", "py3nvml",
            "fsspec", "safetensors", "huggingface_hub", "rich", "tomli", "nvidia_resiliency_ext",
            "omegaconf", "hydra", "wandb", "multistorageclient", "regex", "yaml", "sentencepiece", "tiktoken", "blobfile",
            "megatron_fsdp", "accelerate", "peft", "diffusers", "qwen_vl_utils", "mamba_ssm",
            "causal_conv1d", "transformer_engine", "nemo_run", "tensorstore", "zarr", "modelopt", "filelock", "requests"]


class Wrong(Exception):
    pass


def expect(what, found, planned):
    if found != planned:
        raise Wrong(f"{what}: it reads {found!r}, the plan says {planned!r}")


class Plan:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.file = json.load(file)
        self.__dict__.update(self.file["plan"])
        self.micro_batches = self.global_batch // (self.data * self.micro_batch_size)
        self.stages = self.pipeline * self.chunks
        for member, default in (("context", 1), ("expert", 1), ("expert_tensor", 0), ("context_kind", "ring"),
                                ("offload_optimizer", False), ("sharding", "state"), ("shard_group", 0)):
            setattr(self, member, self.file["plan"].get(member, default))
        self.world = self.pipeline * self.data * self.tensor * self.context
        self.sections = self.file["sections"]
        self.layers = [name for name in self.sections if "." in name]

    def sections_of(self, stage):
        return self.sections[self.cuts[stage]:self.cuts[stage + 1]]

    def layers_of(self, stage):
        return [int(name.rpartition(".")[2]) for name in self.sections_of(stage) if "." in name]

    def rank_of(self, stage):
        if self.stage_map == "v":
            return stage if stage < self.pipeline else 2 * self.pipeline - 1 - stage
        return stage % self.pipeline


def bare(name, root):
    """The package without what its __init__ imports."""
    package = stand_ins.Module(name)
    package.__path__ = [os.path.join(root, *name.split("."))]
    package.HAS_TRITON = False
    sys.modules[name] = package
    return package


def after(arguments, word):
    return arguments[arguments.index(word) + 1:]


def torchrun_ranks(job, plan):
    call = job["arguments"]
    values = dict(word.lstrip("-").split("=", 1) for word in call if word.startswith("--n") and
                  "=" in word)
    nodes, per_node = int(values["nnodes"]), int(values["nproc_per_node"])
    if not (nodes - 1) * per_node < plan.world <= nodes * per_node:
        raise Wrong(f"torchrun starts {nodes} x {per_node} ranks, the plan has {plan.world}")


# A size of Megatron-LM, and the names that a config.json has for it.
SIZES = {"hidden_size": ("hidden_size", "n_embd"), "num_attention_heads": ("num_attention_heads", "n_head"),
         "ffn_hidden_size": ("intermediate_size", "n_inner"), "vocab_size": ("vocab_size",),
         "num_query_groups": ("num_key_value_heads",), "kv_channels": ("head_dim",),
         "num_experts": ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
         "moe_router_topk": ("num_experts_per_tok",), "max_position_embeddings": ("max_position_embeddings", "n_positions")}


# Megatron-LM's --cp-comm-type, by the plan's word.
TRANSFERS = {"ring": "p2p", "all_gather": "all_gather", "ulysses": "a2a"}


def config_of(model):
    with open(model, encoding="utf-8") as file:
        return json.loads("".join(line for line in file if not line.startswith("//")))


def judge_sizes(args, model):
    """The sizes that the config.json names; at least as many positions as a sample has tokens, which
    Megatron-LM asserts."""
    config = config_of(model)
    for size, names in SIZES.items():
        planned = next((config[name] for name in names if config.get(name) is not None), None)
        if planned is None or (size == "kv_channels" and args.multi_latent_attention):
            continue
        if size == "num_query_groups" and not args.group_query_attention:  # as many as there are heads
            expect(size, args.num_attention_heads, planned)
        elif size == "max_position_embeddings":
            expect(size, getattr(args, size), max(planned, args.seq_length))
        else:
            expect(size, getattr(args, size), planned)


class Megatron:
    def __init__(self, clones):
        sys.path[:0] = clones
        import megatron.training.arguments as arguments
        from megatron.core import parallel_state
        from megatron.core.transformer import transformer_block, transformer_layer
        self.parallel_state = parallel_state
        self.arguments, self.block, self.layer = arguments, transformer_block, transformer_layer

    def judge(self, job, plan):
        torchrun_ranks(job, plan)
        os.environ.update(RANK="0", WORLD_SIZE=str(plan.world), LOCAL_RANK="0",
                          CUDA_DEVICE_MAX_CONNECTIONS=job["CUDA_DEVICE_MAX_CONNECTIONS"])
        sys.argv = ["pretrain_gpt.py", *after(job["arguments"], "pretrain_gpt.py")]
        args = self.arguments.parse_args()
        self.arguments.validate_args(args)
        expect("micro-batch size", args.micro_batch_size, plan.micro_batch_size)
        expect("global batch size", args.global_batch_size, plan.global_batch)
        expect("DP", args.data_parallel_size, plan.data)
        expect("TP", args.tensor_model_parallel_size, plan.tensor)
        expect("PP", args.pipeline_model_parallel_size, plan.pipeline)
        expect("CP", args.context_parallel_size, plan.context)
        expect("CP's transfers", args.cp_comm_type[0] if isinstance(args.cp_comm_type, list) else args.cp_comm_type,
               TRANSFERS[plan.context_kind])
        expect("EP", args.expert_model_parallel_size, plan.expert)
        if plan.expert > 1 or plan.expert_tensor > 0:
            expect("TP of experts", args.expert_tensor_parallel_size, plan.expert_tensor or plan.tensor)
        expect("bf16", args.bf16, True)
        expect("fp8", args.fp8, "hybrid" if job["precision"] == "float8" else None)
        expect("gradients in 32 bits", args.accumulate_allreduce_grads_in_fp32, True)
        expect("ZeRO-1", args.use_distributed_optimizer, plan.zero1 or plan.offload_optimizer)
        expect("optimizer on the host", args.optimizer_cpu_offload, plan.offload_optimizer)
        if plan.offload_optimizer:
            expect("share of it", args.optimizer_offload_fraction, 1.0)
        expect("recompute", args.recompute_granularity or "none", plan.recompute)
        judge_sizes(args, job["model"])
        config = self.arguments.core_transformer_config_from_args(args)
        expect("VP", config.virtual_pipeline_model_parallel_size or 1, plan.chunks)
        self.parallel_state.set_pipeline_model_parallel_world_size(plan.pipeline)
        self.parallel_state.set_virtual_pipeline_model_parallel_world_size(
            plan.chunks if plan.chunks > 1 else None)
        for stage in range(plan.stages):
            rank, chunk = stage % plan.pipeline, stage // plan.pipeline
            self.parallel_state.set_pipeline_model_parallel_rank(rank)
            vp_stage = chunk if plan.chunks > 1 else None
            layers = self.block.get_num_layers_to_build(config, vp_stage, rank)
            expect(f"layers of stage {stage}", layers, len(plan.layers_of(stage)))
            if layers:
                offset = self.layer.get_transformer_layer_offset(config, vp_stage, rank)
                expect(f"first layer of stage {stage}", offset, plan.layers_of(stage)[0])


class Bridge:
    def __init__(self, clones):
        sys.path[:0] = [os.path.join(clones[0], "src"), *clones[1:]]
        for name in ("", ".models", ".models.conversion", ".models.hf_pretrained", ".recipes",
                     ".data", ".peft"):  # without its hundred models
            bare("megatron.bridge" + name, os.path.join(clones[0], "src"))
        stand_ins.hide("megatron.bridge.data.builders")  # of fine-tuning
        from megatron.bridge.models.gpt_provider import GPTModelProvider
        sys.modules["megatron.bridge.models"].GPTModelProvider = GPTModelProvider
        from megatron.bridge.recipes.common import _pretrain_common
        from megatron.core.transformer.pipeline_parallel_layer_layout import (
            PipelineParallelLayerLayout)
        self.provider, self.common = GPTModelProvider, _pretrain_common
        self.layout = PipelineParallelLayerLayout

    def judge(self, job, plan):
        torchrun_ranks(job, plan)
        sys.path.insert(0, job["folder"])
        sys.modules.pop("penstock_recipe", None)
        try:
            recipe = importlib.import_module("penstock_recipe")
        finally:
            sys.path.pop(0)
        cfg = self.common()
        config = config_of(job["model"])  # of which EP needs to know the experts
        experts = next((config[name] for name in SIZES["num_experts"] if config.get(name)), None)
        cfg.model = self.provider(num_layers=len(plan.layers), hidden_size=1024,
                                  num_attention_heads=64, seq_length=128, num_moe_experts=experts,
                                  add_bias_linear=False)
        known = {part: set(vars(getattr(cfg, part))) for part in
                 ("model", "train", "dataset", "ddp", "optimizer", "dist")}
        cfg.train.train_iters, cfg.scheduler.lr_warmup_iters = 50, 5  # as recipe() has them
        os.environ.update(WORLD_SIZE=str(plan.world), RANK="0", LOCAL_RANK="0",
                          CUDA_DEVICE_MAX_CONNECTIONS=job["CUDA_DEVICE_MAX_CONNECTIONS"])
        cfg = recipe.planned(cfg)
        for part, names in known.items():
            more = set(vars(getattr(cfg, part))) - names
            if more:
                raise Wrong(f"{part} has no fields {sorted(more)}")
        expect("micro-batch size", cfg.train.micro_batch_size, plan.micro_batch_size)
        expect("global batch size", cfg.train.global_batch_size, plan.global_batch)
        expect("DP", cfg.get_data_parallel_size(plan.world), plan.data)
        expect("sequence length", cfg.model.seq_length, plan.sequence_length)
        expect("CP", cfg.model.context_parallel_size, plan.context)
        expect("EP", cfg.model.expert_model_parallel_size, plan.expert)
        expect("bf16", cfg.mixed_precision.bf16, True)
        expect("fp8", cfg.mixed_precision.fp8, "hybrid" if job["precision"] == "float8" else None)
        expect("ZeRO-1", cfg.ddp.use_distributed_optimizer, plan.zero1 or plan.offload_optimizer)
        expect("optimizer on the host", cfg.optimizer.optimizer_cpu_offload, plan.offload_optimizer)
        cfg.mixed_precision.finalize()  # as its runtime_config_update() does, before it validates
        cfg.mixed_precision.setup(cfg.model, cfg.optimizer, cfg.ddp)
        cfg.validate()
        if plan.pipeline == 1:
            return
        layout = cfg.model.pipeline_model_parallel_layout
        if not isinstance(layout, self.layout):  # validate() made it of the string
            raise Wrong("it did not read the layout")
        layout.validate_layer_layout(len(plan.layers), None)
        expect("VP", layout.virtual_pipeline_model_parallel_size, plan.chunks)
        for stage in range(plan.stages):
            rank, chunk = stage % plan.pipeline, stage // plan.pipeline
            from megatron.core.transformer.enums import LayerType
            expect(f"layers of stage {stage}",
                   layout.layout[rank][chunk].count(LayerType.decoder),
                   len(plan.layers_of(stage)))


class Titan:
    """Of all versions: what is the same in their configurations."""

    def common(self, config, plan, parallel_dims):
        parallelism = config.parallelism
        expect("PP", parallelism.pipeline_parallel_degree, plan.pipeline)
        expect("TP", parallelism.tensor_parallel_degree, plan.tensor)
        expect("CP", parallelism.context_parallel_degree, plan.context)
        replicas = (parallelism.data_parallel_replicate_degree *
                    parallelism.data_parallel_shard_degree)
        expect("DP", replicas, plan.data)
        self.dims(parallel_dims, parallelism, plan)

    def dims(self, parallel_dims, parallelism, plan):
        import inspect
        values = {"dp_replicate": parallelism.data_parallel_replicate_degree,
                  "dp_shard": parallelism.data_parallel_shard_degree, "cp": plan.context, "tp": plan.tensor,
                  "pp": plan.pipeline, "ep": 1, "etp": 1, "world_size": plan.world,
                  "enable_loss_parallel": True}
        names = inspect.signature(parallel_dims).parameters
        parallel_dims(**{name: value for name, value in values.items() if name in names})

    def precision(self, config, plan):
        expect("precision", config.training.mixed_precision_param, "bfloat16")

    def modules(self, parts, plan, head):
        flat = [name for part in parts for name in part]
        layers = [f"layers.{i}" for i in range(len(plan.layers))]
        expect("modules", flat, ["tok_embeddings", *layers, "norm", head])
        for stage, part in enumerate(parts):
            held = [int(name.split(".")[1]) for name in part if name.startswith("layers.")]
            expect(f"layers of stage {stage}", held, plan.layers_of(stage))

    def csv(self, path, plan):
        with open(path, encoding="utf-8") as file:
            rows = file.read().splitlines()
        expect("rows of the CSV", len(rows), plan.pipeline)
        for rank, row in enumerate(rows):
            stages = {int(cell.split("F")[0]) for cell in row.split(",") if
                      "F" in cell and cell[0].isdigit()}
            held = {stage for stage in range(plan.stages) if plan.rank_of(stage) == rank}
            if "OVERLAP" not in row:
                expect(f"stages of rank {rank}", stages, held)


def check_fields(owner, values, where=""):
    """The TOML's keys and values against the dataclass."""
    hints = typing.get_type_hints(owner)
    for key, value in values.items():
        if key not in hints:
            raise Wrong(f"{where}{key} is not a field of {owner.__name__}")
        if isinstance(value, dict):
            check_fields(hints[key], value, f"{where}{key}.")
        elif typing.get_origin(hints[key]) is typing.Literal:
            if value not in typing.get_args(hints[key]):
                raise Wrong(f"{where}{key} = {value!r} is none of {typing.get_args(hints[key])}")
        elif hints[key] in (int, str, bool) and type(value) is not hints[key]:
            raise Wrong(f"{where}{key} = {value!r} is no {hints[key].__name__}")


class TitanToml(Titan):
    def __init__(self, clones):
        sys.path[:0] = clones
        if os.path.exists(os.path.join(clones[0], "torchtitan", "config_manager.py")):
            from torchtitan.config_manager import ConfigManager, JobConfig
            self.head, self.old = "output", True
        else:
            from torchtitan.config import ConfigManager, JobConfig
            self.head, self.old = "output", False
        from torchtitan.distributed.parallel_dims import ParallelDims
        self.manager, self.config, self.parallel_dims = ConfigManager, JobConfig, ParallelDims
        manager = sys.modules[ConfigManager.__module__]
        # tyro reads the command line; what comes from the file is the default that it is given.
        manager.tyro.cli = lambda cls, args, default, registry=None: default

    def judge(self, job, plan):
        import tomllib
        torchrun_ranks(job, plan)
        arguments = after(job["arguments"], "torchtitan.train")
        with open(after(arguments, "--job.config_file")[0], "rb") as file:
            check_fields(self.config, tomllib.load(file))
        config = self.manager().parse_args(arguments)
        self.common(config, plan, self.parallel_dims)
        training, parallelism = config.training, config.parallelism
        expect("global batch", training.global_batch_size, plan.global_batch)
        replicas = plan.data
        accumulation = training.global_batch_size // (training.local_batch_size * replicas)
        expect("rest of the batch",
               training.global_batch_size % (training.local_batch_size * replicas), 0)
        pipelined = plan.pipeline > 1
        size = (parallelism.pipeline_parallel_microbatch_size if pipelined else
                training.local_batch_size)
        per_step = training.local_batch_size // size if pipelined else 1
        expect("micro-batch size", size, plan.micro_batch_size)
        expect("micro-batches", per_step * accumulation, plan.micro_batches)
        expect("accumulation around a pipeline", accumulation if pipelined else 1, 1)
        expect("sequence length", training.seq_len, plan.sequence_length)
        expect("recompute", config.activation_checkpoint.mode, plan.recompute)
        self.precision_of(config, plan)
        if not pipelined:
            return
        self.csv(after(arguments, "--parallelism.pipeline_parallel_schedule_csv")[0], plan)
        if self.old:
            points = [f"layers.{plan.layers_of(stage)[0]}" for stage in range(1, plan.stages)]
            expect("split points", parallelism.pipeline_parallel_split_points, points)
        else:
            self.modules(parallelism.module_fqns_per_model_part, plan, self.head)

    def precision_of(self, config, plan):
        """As torchtitan/distributed/utils.py, maybe_enable_amp(), decides."""
        self.precision(config, plan)
        sharded = config.parallelism.data_parallel_shard_degree > 1
        alone = plan.pipeline == plan.tensor == 1
        if not (sharded or alone):
            expect("dtype", getattr(config.training, "dtype", "float32"), "bfloat16")
        if plan.data > 1 and not alone and not sharded:
            raise Wrong("DDP has not supported > 1D parallelism (its parallelize.py)")


class TitanHead(Titan):
    def __init__(self, clones):
        sys.path[:0] = clones
        from torchtitan.config import ConfigManager
        from torchtitan.distributed.parallel_dims import ParallelDims
        from torchtitan.models.llama3.config_registry import llama3_8b
        from torchtitan.trainer import Trainer
        self.manager, self.trainer, self.parallel_dims = ConfigManager, Trainer, ParallelDims
        self.base = llama3_8b
        sys.modules[ConfigManager.__module__].tyro.cli = (
            lambda cls, args, default, registry=None: default)

    def judge(self, job, plan):
        torchrun_ranks(job, plan)
        sys.path.insert(0, job["folder"])
        sys.modules.pop("penstock_plan", None)
        try:
            module = importlib.import_module("penstock_plan")
            module.base = module.base or self.base
            config = self.manager().parse_args(after(job["arguments"], "torchtitan.train"))
        finally:
            sys.path.pop(0)
        expect("class", type(config), self.trainer.Config)
        for part in (config.training, config.parallelism):
            part.__post_init__()
        self.common(config, plan, self.parallel_dims)
        self.precision(config, plan)
        training, parallelism = config.training, config.parallelism
        per_forward = training.num_tokens_per_microbatch_per_dp_rank
        expect("micro-batch size", per_forward, plan.micro_batch_size * plan.sequence_length)
        expect("context", training.max_context_length, plan.sequence_length)
        in_flight = parallelism.num_pp_microbatches if plan.pipeline > 1 else 1
        expect("rest of the batch",
               training.num_tokens_per_train_step % (per_forward * in_flight * plan.data), 0)
        accumulation = training.num_tokens_per_train_step // (per_forward * in_flight * plan.data)
        expect("micro-batches", in_flight * accumulation, plan.micro_batches)
        policy = type(config.activation_checkpoint).__qualname__.partition(".")[0]
        expect("recompute", policy, {"none": "NoneType", "full": "FullAC",
                                     "selective": "SelectiveAC"}[plan.recompute])
        if plan.pipeline > 1:
            expect("accumulation around a pipeline", accumulation, 1)
            self.csv(parallelism.pipeline_parallel_schedule_csv, plan)
            self.modules(parallelism.module_fqns_per_model_part, plan, "lm_head")


class DeepSpeed:
    def __init__(self, clones):
        sys.path[:0] = clones
        os.environ.update(DS_ACCELERATOR="cpu", LOCAL_RANK="0")
        for name in ("deepspeed", "deepspeed.ops", "deepspeed.module_inject"):
            bare(name, clones[0])  # without what compiles kernels
        from deepspeed import comm
        from deepspeed.runtime.config import DeepSpeedConfig
        import deepspeed.runtime.pipe.module as module
        self.comm, self.config, self.module = comm, DeepSpeedConfig, module
        module.PipelineParallelGrid = stand_ins.StandIn  # it makes process groups

    def judge(self, job, plan):
        torchrun_ranks(job, plan)
        world, comm = plan.world, self.comm
        comm.is_initialized = lambda: True
        comm.get_world_size = lambda group=None: world
        comm.get_rank = lambda group=None: 0
        comm.new_group = lambda ranks=None: None
        mpu = types.SimpleNamespace(get_data_parallel_world_size=lambda: plan.data,
                                    get_model_parallel_world_size=lambda: plan.tensor)
        config = self.config(after(job["arguments"], "--deepspeed_config")[0], mpu)
        expect("micro-batch size", config.train_micro_batch_size_per_gpu, plan.micro_batch_size)
        expect("micro-batches", config.gradient_accumulation_steps, plan.micro_batches)
        expect("global batch", config.train_batch_size, plan.global_batch)
        expect("bf16", config.bfloat16_config.enabled, True)
        expect("gradients", config.grad_accum_dtype, "fp32")
        # ZeRO-1 at least: without it DeepSpeed does not sum gradients in 32 bits beside bfloat16.
        sharding = {"zero2": 2, "zero3": 3}.get(plan.sharding, 1)
        expect("ZeRO stage", int(config.zero_optimization_stage), sharding)
        offload = config.zero_config.offload_optimizer
        expect("optimizer on the host", offload is not None and offload.device == "cpu", plan.offload_optimizer)
        if sharding > 1:  # for which there is no PipelineModule
            return
        expect("recompute", config.pipeline["activation_checkpoint_interval"],
               1 if plan.recompute == "full" else 0)
        self.partitions(job, plan)

    def partitions(self, job, plan):
        sys.path.insert(0, job["folder"])
        sys.modules.pop("penstock_pipeline", None)
        pipe = types.ModuleType("deepspeed.pipe")
        pipe.PipelineModule = self.module.PipelineModule
        sys.modules["deepspeed.pipe"] = pipe
        try:
            ours = importlib.import_module("penstock_pipeline")
        finally:
            sys.path.pop(0)
        section = type("Section", (sys.modules["torch"].nn.Module,), {})
        for stage in range(plan.pipeline):
            for replica in (0, plan.data - 1):
                inner = plan.placement == "pipeline_inner"
                place = (replica * plan.pipeline + stage if inner else
                         stage * plan.data + replica)
                self.comm.get_rank = lambda group=None: place * plan.tensor
                layers = [section() for _ in plan.sections]
                engine = ours.PenstockPipelineModule(layers=layers)
                begin, end = plan.cuts[stage], plan.cuts[stage + 1]
                expect(f"stage {stage}", (engine.stage_id, engine._local_start, engine._local_stop),
                       (stage, begin, end))
                expect(f"layers of stage {stage}", engine.forward_funcs, layers[begin:end])


WORKERS = {"megatron": Megatron, "bridge": Bridge, "titan01": TitanToml, "titan02": TitanToml,
           "titanhead": TitanHead, "deepspeed": DeepSpeed}


def main():
    stand_ins.stand_in_for(PACKAGES)
    worker = WORKERS[sys.argv[1]](sys.argv[2].split(os.pathsep))
    jobs = json.load(sys.stdin)
    for job in jobs:
        verdict = {}
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                worker.judge(job, Plan(job["plan"]))
            except Wrong as wrong:
                verdict["error"] = str(wrong)
            except (Exception, SystemExit) as error:  # whatever the trainer's code raises
                where = traceback.extract_tb(error.__traceback__)[-1]
                verdict["error"] = (f"{type(error).__name__}: {str(error)[:300]} "
                                    f"({os.path.basename(where.filename)}:{where.lineno})")
        print("VERDICT " + json.dumps(verdict))


if __name__ == "__main__":
    main()
