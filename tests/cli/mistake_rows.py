"""Rows of the tables of mistakes (mistakes.txt), the folder that they run in, and the answer to one."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile


SCRIPT = """torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --tensor-model-parallel-size 2 \\
  --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 512 --seq-length 4096 --num-layers 80 \\
  --bf16 --use-distributed-optimizer
"""
LOG = """  global_batch_size ............................... 512
  micro_batch_size ................................ 1
  pipeline_model_parallel_size .................... 4
  seq_length ...................................... 4096
  tensor_model_parallel_size ...................... 2
  use_distributed_optimizer ....................... True
  world_size ...................................... 64
""" + "".join(f" iteration {i:8d}/ 100 | consumed samples: {512 * i} | elapsed time per iteration (ms): 9000.0 | "
              "global batch size: 512 | lm loss: 1.0E+01 |\n" for i in range(1, 9))


def rows(table):
    """Number, command and answer of every row of the table."""
    with open(table, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            if " => " not in line:
                raise ValueError(f"{table}:{number}: no ' => ' in {line.rstrip()!r}")
            yield number, *line.rstrip("\n").split(" => ", 1)


def answered(penstock, command, folder, timeout):
    """Exit code and output, errors included; nothing when it took longer."""
    try:
        done = subprocess.run(f'"{penstock}" {command}', shell=True, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode, done.stdout


@contextlib.contextmanager
def folder_of_mistakes(penstock):
    with tempfile.TemporaryDirectory() as folder:
        prepare(penstock, folder)
        yield folder


def prepare(penstock, folder):
    for source, name in (("data/models/llama-2-70b.json", "config.json"),
                         ("data/models/llama-2-70b.json", "model/config.json"),
                         ("data/models/mixtral-8x7b.json", "moe/mixtral.json"),
                         ("data/profiles/gpt-6.7b.a100-40gb.json", "profile.json"),
                         ("data/clusters/a100-40gb-p4d-8x8.json", "cluster.json"),
                         ("data/availability/aws_p3_bamboo.nodes.csv", "trace.csv"),
                         ("data/schedules/1f1b-2x3.csv", "my.csv"),
                         ("tests/report/imports/data/all_reduce.txt", "ring.txt")):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    with open("data/models/llama-2-70b.json", encoding="utf-8") as file:
        config = file.read()
    for name, text in (("model.safetensors.index.json", '{"weight_map": {}}'), ("empty.json", ""),
                       ("list.json", "[1, 2]"), ("bom.json", "\ufeff" + config),
                       ("ds_config.json", '{"train_batch_size": 64}'), ("log.jsonl", '{"step": 1}\n'),
                       ("my_train.sh", SCRIPT), ("my_megatron.log", LOG), ("timed.log", LOG[LOG.index(" iteration"):]), ("my_lengths.txt", "100\n200\n"),
                       ("own.slurm", "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=4\nsrun torchrun train.py\n"),
                       ("my_runs.csv", "tp,pp,dp,mbs,gbs,step_time_s\n1,1,8,1,64,6.9\n2,1,4,1,64,7.4\n"),
                       ("hf.txt", "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.1}\n"),
                       ("accelerate.yaml", "distributed_type: FSDP\nnum_processes: 8\n"),
                       ("hf.sh", "accelerate launch --num_processes 4 train.py --per_device_train_batch_size 2 "
                                 "--gradient_accumulation_steps 8\n"),
                       ("ds_ltd.json", '{"train_batch_size": 4, "data_efficiency": {"random_ltd": {"model_type": "decoder"}}}'),
                       ("cut.json", '{"model_type": "llama", "hidden_size": 40'), ("cluster.yaml", "nodes: 8"),
                       ("plain.sh", "echo hello\n"),
                       ("vit.json", '{"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, '
                                    '"num_attention_heads": 12, "image_size": 224}')):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run([penstock, "plan", "profile.json", "--cluster", "cluster.json", "--gpus", "8",
                    "--global-batch", "16", "--schedule", "1f1b", "--pin", "PP=8,TP=1,mbs=1", "-o", "plan.json"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([penstock, "plan", "profile.json", "--cluster", "cluster.json", "--gpus", "8,16",
                    "--global-batch", "16", "--schedule", "1f1b", "--pin", "TP=1,mbs=1",
                    "--recompute", "full", "--for", "penstock", "-o", "book.json"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    prepare_jobs(folder)


def prepare_jobs(folder):
    os.mkdir(os.path.join(folder, "run"))
    job = {"format": "penstock.job/1", "book": "book.json", "steps": 300, "train": ["--data", "corpus.txt"],
           "checkpoints": "ckpt", "run_folder": "run"}
    for name, changes in (("job", {}), ("no_steps", {"steps": None}), ("no_format", {"format": None}),
                          ("no_book", {"book": "books.json"}), ("book_is_plan", {"book": "plan.json"}),
                          ("steps_twice", {"train": ["--data", "c.txt", "--steps", "9"]}),
                          ("train_is_text", {"train": "--data c.txt"}),
                          ("open_address", {"address": "0.0.0.0:4270"}), ("ssh_kind", {"ranks": {"kind": "ssh"}}),
                          ("amazon", {"notices": [{"provider": "amazon", "machine": "a"}]})):
        changed = {key: value for key, value in {**job, **changes}.items() if value is not None}
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(changed, file)
