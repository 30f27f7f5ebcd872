// What other tools call the verbs, and what is said of things that no verb is called after. One row
// per idea; {..} in a sentence is what was typed, or an example of it (filled_in in
// verb_called.cc).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace penstock {

struct NameOfVerb {
  std::array<std::string_view, 24> typed;
  std::string_view verb;
};
inline constexpr std::array kOtherNames{
    NameOfVerb{{"search",      "optimize",  "optimizer", "autotune", "tune",     "find",
                "optimal",     "recommend", "suggest",   "solve",    "best",     "auto",
                "layout",      "strategy",  "generate",  "create",   "make",     "partition",
                "parallelize", "split",     "shard",     "place",    "planning", "improve"},
               "plan"},
    NameOfVerb{{"evaluate", "eval", "perf", "performance", "forecast", "guess"}, "predict"},
    NameOfVerb{{"supervise", "elastic", "resume", "restart", "daemon"}, "manage"},
    NameOfVerb{{"watch", "monitor", "top", "progress"}, "status"},
    NameOfVerb{{"sweep", "grid", "scan", "vary", "ablate", "whatif", "what-if", "scaling",
                "sensitivity", "versus", "vs"},
               "compare"},
    NameOfVerb{{"lint", "verify", "test", "inspect", "audit", "fix"}, "check"},
    NameOfVerb{
        {"visualize", "open", "html", "page", "dashboard", "web", "gui", "ui", "viewer", "browse"},
        "report"},
    NameOfVerb{{"why", "whynot", "why-not", "analyze", "analysis", "summarize", "bottleneck",
                "diagnose", "advise", "debug", "understand", "troubleshoot", "interpret"},
               "explain"},
    NameOfVerb{{"convert", "save", "emit", "translate", "to-megatron"}, "export"},
    NameOfVerb{{"replay", "sim", "simulator", "simulation", "emulate", "dryrun", "dry-run"},
               "simulate"},
    NameOfVerb{{"measure", "profiler", "time"}, "profile"},
    NameOfVerb{{"bubble", "scheduler", "pipeline", "pipelining"}, "schedule"},
    NameOfVerb{{"calibration", "correct", "regress"}, "calibrate"},
    NameOfVerb{{"morphing", "availability", "spot", "goodput"}, "morph"},
    NameOfVerb{{"hparam", "multi-model", "pack", "share"}, "multi"},
    NameOfVerb{{"varlen", "lengths", "batching"}, "dynamic"},
};

// `help`: what is said; the others where such a file was typed, unless they are empty.
struct Idea {
  std::array<std::string_view, 24> typed;
  std::string_view help, of_plan = "", of_model = "", of_job = "";
};

// Words that begin a question.
inline constexpr Idea kAsking{
    {"how", "what", "which", "can", "is", "i", "will", "does", "do", "please", "should", "me"},
    "a question is asked with options: {planning} --tokens 2T --usd-per-gpu-hour 2.5 prints "
    "the best plan, the days and the price"};

// Whose speed is measured by other tools; their nouns outweigh "bench" and "measure" beside them.
inline constexpr Idea kLinks{
    {"links",         "link",        "bandwidth",  "network",     "interconnect", "nccl",
     "nccl-tests",    "infiniband",  "ib",         "nvlink",      "latency",      "fabric",
     "p2p",           "allreduce",   "all-reduce", "nvbandwidth", "internode",    "comm",
     "communication", "collectives", "busbw",      "roce"},
    "nccl-tests measures links between nodes (mpirun -np 16 ./all_reduce_perf -b 1M -e 8G -f 2 > "
    "all_reduce.txt): penstock import nccl-tests all_reduce.txt --device h100-sxm --gpus 16 -o "
    "cluster.json puts its figures into a cluster file; penstock profile --links --device cuda "
    "--cluster-out cluster.json measures the links of this machine, and those between nodes where "
    "torchrun --no-python starts it on all of them"};

// What people ask of a layout, "check-memory", "estimate-cost": it outweighs the verb beside it.
inline constexpr std::array kQuantities{
    kLinks,
    Idea{{"min-gpus", "minimum-gpus", "fewest-gpus", "mingpus", "smallest-cluster", "least-gpus",
          "required-gpus", "gpus-needed", "gpus-required", "how-many-gpus", "gpu-count", "sizing",
          "capacity", "rightsize", "right-size"},
         "{counting} plans for each number of GPUs, and says the fewest that the model fits"},
    Idea{
        {"memory", "mem", "vram", "oom", "fit", "fits", "hbm", "footprint"},
        "did you mean 'predict'? {predicting} says what every rank of one layout holds; "
        "{planning} finds layouts that fit",
        "{simulating} says what every rank holds, with --memory-csv memory.csv over time; penstock "
        "report {plan} -o report.html draws that; {explaining} says what limits it"},
    Idea{{"mfu", "hfu", "throughput", "tflops", "flops", "speed", "step-time", "steptime", "tps",
          "cost-model"},
         "did you mean 'predict'? {measuring} tells step time, tokens/s and MFU of one layout, "
         "yours in --layout; with --measured {time} beside a step that was measured",
         "{simulating} replays it: step time and bubble; {explaining} tells tokens/s and MFU"},
    Idea{{"cost", "costs", "price", "prices", "pricing", "days", "duration", "spend", "usd", "bill",
          "eta", "dollars", "money"},
         "{planning} --tokens 2T --usd-per-gpu-hour 2.5 adds the days and the price of the "
         "training; penstock import skypilot vms.csv puts a cloud's prices into a cluster file",
         "{explaining} --tokens 2T --usd-per-gpu-hour 2.5 gives the days and the price of that "
         "plan"},
};

// Of things that people list: they outweigh a vague verb beside them ("show-gpus", "get clusters").
inline constexpr std::array kThings{
    Idea{{"device", "devices", "gpu", "gpus", "hardware", "accelerator", "accelerators", "card",
          "cards", "nvidia", "smi", "nvidia-smi", "rocm-smi", "nvtop", "nvitop", "lspci"},
         "write {devices}: the GPUs that --device takes, and what is assumed of them"},
    Idea{{"model", "models", "config.json", "llm"},
         "any config.json of Hugging Face's is a model: {planning} (data/models has some)"},
    Idea{{"cluster", "clusters", "node", "nodes", "machines", "topology", "hosts", "sinfo",
          "pbsnodes", "qhost", "lstopo", "scontrol"},
         "--cluster FILE takes nodes and links (data/clusters has some, docs/file_formats.md the "
         "keys): {planning in cluster}; without it --device h100-sxm assumes nodes of 8"},
    Idea{{"schedules"},
         "penstock schedule --help names them; penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost "
         "F=10ms,I=10ms,W=10ms compares two"},
    Idea{{"trainer", "trainers", "targets", "frameworks", "backends"},
         "the trainer is named to a verb: penstock plan {model} ... --for torchtitan, penstock "
         "export {plan} --to megatron -o job; penstock export --help lists them"},
    Idea{{"job", "jobs", "queue", "queues", "ps", "run", "runs", "squeue", "sacct", "qstat",
          "bjobs", "htop", "bqueues"},
         "no queue is kept: penstock manage {job} keeps one job running, and penstock status {job} "
         "shows its machines, its speed and the last decisions"},
    Idea{{"straggler", "stragglers", "slow", "slow-gpu", "slow-gpus", "slow-ranks", "slow-nodes",
          "slowest"},
         "{validating} --slow-ranks names the ranks that are slower than the others in that log; "
         "penstock train --slow-ranks watches a run"},
    Idea{{"log", "logs", "parse-log", "tail"},
         "{validating} compares the log of a run with its plan; penstock status {job} shows a "
         "managed job"},
    Idea{{"batch", "batchsize", "mbs", "gbs", "microbatch"},
         "{planning} finds the micro-batch size; the global batch, in samples, is yours"},
    Idea{{"plans", "results", "history"},
         "a plan is a file, where -o of penstock plan put it: {explaining} says what limits it, "
         "{reporting} shows it"},
};

// The first of them are about what is started.
inline constexpr std::ptrdiff_t kIdeasOfStart = 2;
inline constexpr std::array kSentences{
    Idea{{"launch", "run", "start", "execute", "submit", "deploy", "apply", "use", "operate",
          "follow", "go"},
         "did you mean 'train' or 'manage'? penstock train plan.json --data FILE trains here by a "
         "plan, penstock export plan.json --to megatron -o job writes the files that start a "
         "trainer, and penstock manage job.json keeps a job running by a book of plans (penstock "
         "train --book book.json --ranks N uses one of them)",
         "penstock starts nothing on other machines: {exporting} writes the files that start a "
         "trainer (run.sh, job.sbatch, sky.yaml), {training} trains here",
         "nothing is started before there is a plan: {planning for a trainer} -o plan.json; then "
         "penstock export plan.json --to {its trainer} -o job writes the files that start it",
         "did you mean 'manage'? write penstock manage {job}"},
    Idea{{"finetune", "fine-tune", "sft", "pretrain", "pretraining", "pre-train", "posttrain",
          "midtrain", "instruct"},
         "did you mean 'plan'? write {planning}: fine-tuning of all parameters is planned as "
         "pretraining is (LoRA and other adapters are not modelled); penstock train runs a plan "
         "here",
         "penstock starts nothing on other machines: {exporting} writes the files that start a "
         "trainer (run.sh, job.sbatch, sky.yaml), {training} trains here",
         "did you mean 'plan'? write {planning}: fine-tuning of all parameters is planned as "
         "pretraining is (LoRA and other adapters are not modelled)"},
    Idea{{"lora", "qlora", "peft", "adapter", "dora"},
         "adapters are not modelled, all parameters are trained, which takes more time and memory: "
         "{planning}"},
    Idea{{"rlhf", "dpo", "ppo", "grpo", "rl", "reward", "distill", "distillation", "align",
          "alignment", "kto", "orpo"},
         "steps of one model are planned, forward, backward and update: {planning} plans those of "
         "the model that is trained; generation and further models beside it are not modelled"},
    Idea{{"inference", "serving", "infer", "generate-text", "decode", "chat", "prefill", "vllm"},
         "only training is planned, forward, backward and update of one model: {planning} "
         "(generation and serving are not modelled)",
         "only training is planned, and that is a plan of it: {explaining} says what limits it"},
    Idea{{"plot", "draw", "figure", "picture", "svg", "png", "gantt", "timeline", "image", "render",
          "perfetto", "chart", "graph", "chrome"},
         "did you mean 'trace' (a step) or 'report' (a page)? {drawing} draws a step, penstock "
         "report {plan} -o report.html makes a page of the plan"},
    Idea{{"diff", "difference", "delta"},
         "did you mean 'compare'? penstock compare {model} --device h100-sxm --gpus 64 "
         "--global-batch 512 --vary schedule=1f1b,zb-h1 plans with several settings; penstock "
         "report plan.json other.json -o report.html shows several plans",
         "{reporting both} shows both plans on one page; penstock plan {model} ... --baseline "
         "{plan} compares the best plan with that one"},
    Idea{
        {"scale", "resize", "rescale", "grow", "shrink", "replan"},
        "{planning for gpus} plans for that many GPUs, penstock compare {model} ... --vary "
        "gpus=32,64 for several numbers; a running job is told so: penstock tell JOB COMMAND, with "
        "the commands join, leave, preempt, checkpoint, morph and stop"},
    Idea{{"spill", "spilling", "offload", "offloading", "swap", "cpu-offload"},
         "{spilling} keeps the model on the host and takes it through one GPU in parts "
         "(docs/spilling.md); {planning} --pin offload=optimizer keeps the optimizer's state on "
         "the host"},
    Idea{
        {"glossary", "accuracy", "architecture", "file-formats", "user-guide"},
        "that is a page, docs/{page}.md; penstock --help lists the verbs, and penstock VERB --help "
        "explains one"},
    Idea{{"benchmark", "bench"},
         "did you mean 'profile'? penstock profile {model} measures it on a GPU of this machine; "
         "{predicting} predicts a step without one"},
    Idea{{"serve", "vllm", "chat", "infer", "port-forward", "proxy", "expose"},
         "nothing is served: {reporting} writes a page, which a browser opens",
         "",
         "serving is not modelled, training is: {planning}"},
    Idea{{"delete", "rm", "destroy", "clean", "prune", "purge", "cleanup", "clear", "edit",
          "rename", "mv", "cp", "copy", "move", "uninstall", "unset"},
         "nothing is kept but the files that -o names: the shell copies, renames and removes them "
         "(cp, mv, rm); {explaining} says what limits a plan"},
    Idea{{"commit", "push", "checkout", "clone", "merge", "rebase", "revert", "rollback", "branch",
          "tag", "stash", "undo", "git", "rollout", "restore", "switch"},
         "no versions are kept: a plan is a file, which git may keep; {reporting both} shows two "
         "of them"},
    Idea{{"exec", "attach", "ssh", "shell", "debug-pod", "enter"},
         "nothing runs here that could be entered: {exporting} writes the files that start a "
         "trainer (run.sh, job.sbatch, sky.yaml), penstock status {job} shows a managed job"},
    Idea{{"up", "down", "provision", "teardown", "terminate", "autoscale", "rent", "bid",
          "autostop", "reserve", "build", "compose", "container", "containerize"},
         "no machines are rented and no container is built: {exporting} writes run.sh, job.sbatch "
         "for Slurm and sky.yaml for SkyPilot, which do; penstock manage {job} keeps a job "
         "running on machines that come and go, and penstock tell {job} stop ends it"},
    Idea{{"fmt", "prettify", "tidy"},
         "files are written in one form; penstock check {script} finds mistakes in a launch "
         "script, a configuration or a plan",
         "files are written in one form; penstock check {plan} finds mistakes in a plan"},
    Idea{{"output", "outputs", "state", "refresh", "workspace", "context", "taint", "untaint"},
         "nothing is kept between two commands: each prints its result, with --json for "
         "programs, and -o FILE keeps it: {planning} -o plan.json"},
    Idea{{"slurm", "sbatch", "qsub", "pbs", "lsf", "kubernetes", "k8s", "skypilot", "jobscript",
          "batch-script", "job-script"},
         "a job is made of a plan: {planning for a trainer} -o plan.json; then {exporting} writes "
         "job.sbatch for Slurm and sky.yaml for SkyPilot beside the trainer's files",
         "{exporting} writes job.sbatch for Slurm and sky.yaml for SkyPilot beside the trainer's "
         "files; nodes and GPUs are those of the plan, and partition and account are edited there"},
    Idea{{"upgrade", "migrate", "update", "modernize", "port"},
         "files of earlier versions are read as they are, penstock check FILE says whether one is "
         "in order; penstock --version tells which version this is",
         "a plan file of an earlier version (penstock.plan/1) is read as it is, and nothing writes "
         "it anew: {checking} says whether it is in order"},
    Idea{{"download", "pull", "fetch"},
         "nothing is fetched over the network; any config.json of Hugging Face's is a model: "
         "{planning} (data/models has some)"},
    Idea{{"config", "init", "setup", "new", "wizard", "begin", "quickstart", "tutorial", "examples",
          "example", "demo", "doctor", "env", "login", "auth", "install", "configure"},
         "nothing is set up first: {planning}; penstock alone shows seven ways to begin, penstock "
         "--version tells which version this is"},
    Idea{{"docs", "manual", "options", "usage", "commands", "verbs", "me", "us", "man-page"},
         "penstock --help lists the verbs, penstock VERB --help explains one, penstock man "
         "prints all"},
    Idea{{"join", "leave", "preempt", "checkpoint", "stop", "drain", "add", "remove", "kill",
          "cordon", "uncordon", "evict"},
         "the manager of a job is told so: penstock tell JOB COMMAND, with the commands join, "
         "leave, preempt, checkpoint, morph and stop"},
    Idea{{"cancel", "pause"},
         "the manager of a job is told so: penstock tell {job} stop writes a checkpoint and ends "
         "it; penstock manage {job} goes on"},
    Idea{{"python", "python3", "accelerate", "srun", "mpirun", "bash", "ray", "docker", "pip",
          "sudo", "torchrun", "sky", "kubectl"},
         "penstock starts no script: penstock check {script} judges one, penstock export "
         "{plan} --to megatron -o job writes one, penstock train {plan} --data FILE "
         "trains here"},
    Idea{{"deepspeed", "megatron", "torchtitan", "nemo", "lightning", "colossalai", "fsdp",
          "pytorch", "torchtune"},
         "the trainer is named to a verb: penstock plan {model} ... --for {trainer}, "
         "penstock export {plan} --to {trainer} -o job; penstock check {script} judges a "
         "launch file",
         "the trainer is named to a verb: {exporting to the trainer}"},
    kAsking,
};

// They say nothing of what is to be shown.
inline constexpr std::array<std::string_view, 30> kVague{
    "get",     "list",  "ls",    "show",      "print",     "describe", "view",  "display",
    "see",     "dump",  "cat",   "info",      "summary",   "estimate", "calc",  "calculate",
    "compute", "count", "all",   "available", "supported", "known",    "query", "my",
    "the",     "of",    "total", "required",  "max",       "peak"};

}  // namespace penstock
