#include "cli/io/file_kinds.h"

#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace penstock {
namespace {

// Rows for a key of JSON or for the ending of a name; {} is the path.
struct Row {
  std::array<std::string_view, 12> marks;
  std::string_view words, use;
};

constexpr std::string_view kJudged =
    "penstock check {} judges launch files of Megatron-LM, Megatron-Bridge, torchtitan, DeepSpeed "
    "and verl (with --config config.json --device h100-sxm the memory, too)";
constexpr std::string_view kWeights =
    "its sizes are in the config.json that lies beside the weights";
constexpr std::array kEndings{
    Row{{".sh", ".bash", ".sbatch", ".slurm", ".py"}, "a script", kJudged},
    Row{{".toml"}, "a configuration", kJudged},
    Row{{".yaml", ".yml"},
        "YAML",
        "configurations in YAML are not read, and files of Penstock are JSON"},
    Row{{".pt", ".pth"},
        "an archive of PyTorch",
        "penstock profile {} measures a TorchScript archive; of mere weights the sizes are in the "
        "config.json beside them"},
    Row{{".bin", ".safetensors", ".ckpt", ".nemo", ".gguf", ".h5", ".onnx", ".pdparams", ".distcp"},
        "a file of weights",
        kWeights},
    Row{{".log", ".out"},
        "a log",
        "the log of a run comes after its plan: penstock validate plan.json {}"},
    Row{{".jsonl", ".parquet", ".npy", ".npz", ".arrow"},
        "data",
        "penstock train plan.json --data {} trains on data, and the log of a run comes after its "
        "plan: penstock validate plan.json {}"},
    Row{{".csv"},
        "a CSV",
        "a CSV of actions is what penstock schedule {} --cost F=10ms,B=20ms replays, a recording "
        "of GPUs what penstock morph --book book.json --trace {} does"},
    Row{{".ipynb"}, "a notebook", "notebooks are not read"},
    Row{{".html", ".svg", ".png", ".pdf"}, "a picture or a page", "open it in a browser"},
    Row{{".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite"},
        "a file of another tool",
        "what Nsight records is not read; the log of a run, or a folder with the JSON traces of "
        "PyTorch's profiler, comes after its plan: penstock validate plan.json traces"},
    Row{{".tf", ".tfvars", ".hcl", "Dockerfile", "Makefile", "requirements.txt", "environment.txt",
         ".ini", ".cfg", ".conf", ".env"},
        "a file of another tool",
        "it starts no training; penstock check train.sh judges what does: a script of Megatron-LM "
        "or verl, a TOML of torchtitan, DeepSpeed's JSON"},
};

// Parts of a name, wherever they stand.
constexpr std::array kParts{
    Row{{"tfevents", "wandb", "mlruns", "tensorboard"},
        "a file of another tool",
        "what TensorBoard, Weights & Biases and MLflow keep is not read; the log of a run is, the "
        "text that the trainer printed: penstock validate plan.json train.log"},
};

constexpr std::array kKeys{
    Row{{"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization",
         "gradient_accumulation_steps"},
        "a configuration of DeepSpeed",
        "a configuration of DeepSpeed is what penstock check {} judges"},
    Row{{"peft_type"},
        "an adapter's configuration",
        "LoRA and other adapters are not modelled; the sizes are in the base model's config.json"},
    Row{{"traceEvents"},
        "a trace",
        "open it in ui.perfetto.dev; penstock validate plan.json FOLDER compares a folder of "
        "PyTorch's traces, one of each rank, with a plan"},
    Row{{"added_tokens", "bos_token_id", "tokenizer_class", "chat_template"},
        "a file of the tokenizer",
        "the model's sizes are in the config.json beside it"},
};

std::string with_path(std::string_view text, const std::string& path) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "{}") {
      out += path;
      ++at;
    } else {
      out += text[at];
    }
  }
  return out;
}

FileKind kind_in(const Row& row, const std::string& path) {
  return {row.words, with_path(row.use, path)};
}

}  // namespace

FileKind kind_of_text(const std::string& path, std::string_view text) {
  for (const Row& row : kEndings) {
    for (const std::string_view end : row.marks) {
      if (!end.empty() && path.ends_with(end)) return kind_in(row, path);
    }
  }
  for (const Row& row : kParts) {
    for (const std::string_view part : row.marks) {
      const bool is_in = !part.empty() && path.find(part) != std::string::npos;
      if (is_in && !path.ends_with(".json")) return kind_in(row, path);
    }
  }
  if (text.starts_with("#!")) return kind_in(kEndings.front(), path);
  return {};
}

bool is_launch_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const std::string_view words = kind_of_text(path, "").words;
  if (words == "a script" || words == "a configuration" || words == "YAML") return true;
  return path.ends_with(".json") && path.find("config.json") != std::string::npos &&
         path.find("ds_") != std::string::npos;
}

std::string use_of_launch_file(const std::string& path, std::string_view options) {
  std::string use = kind_of_text(path, "").use;
  if (use.empty()) use = fmt::format("penstock check {} judges it", path);
  if (options.empty()) return use;
  return fmt::format("what it says is given with options ({}); {}", options, use);
}

FileKind kind_of_json(const std::string& path, const Json& json) {
  if (json.kind() != Json::Kind::kObject) return {};
  for (const Row& row : kKeys) {
    for (const std::string_view key : row.marks) {
      if (!key.empty() && json.find(key) != nullptr) return kind_in(row, path);
    }
  }
  return {};
}

}  // namespace penstock
