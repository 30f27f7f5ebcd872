// The hash in the profile is compared before anything is loaded, because a changed archive would
// train another model under the old plan. Errors of LibTorch's loader become one line: the
// interpreter's text begins with its own stack and ends with what happened.
#include "training/torch/load_archive.h"

#include <ATen/ATen.h>
#include <malloc.h>
#include <torch/csrc/jit/serialization/import.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "training/torch/model_inputs.h"
#include "training/torch/read_archive_graph.h"
#include "training/torch/script_flow.h"

namespace penstock {

namespace {

void require_trainable(const torch::jit::Module& module, const std::string& archive) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) return;
  }
  throw_bad_input(archive +
                  ": there is nothing to train: it holds no parameter with requires_grad "
                  "(torch.jit.freeze makes constants of them); save the module as it is trained");
}

// Hashes of older profiles are those of all bytes.
void require_that_archive(const std::string& archive, const std::string& hash) {
  if (hash.empty()) return;
  const bool is_of_records = hash.starts_with("zip:");
  if ((is_of_records ? hash_of_archive(archive) : content_hash(read_file(archive))) == hash) return;
  throw_bad_input(archive +
                  ": is not the archive that was profiled (another content hash); profile it "
                  "again");
}

template <class Load>
auto loaded(const ModelDescription& description, const Load& load) {
  require_that_archive(description.archive, description.archive_hash);
  try {
    return load();
  } catch (const c10::Error& error) {
    throw_bad_input(description.archive + ": no TorchScript archive that this LibTorch reads (" +
                    reason_of(error) + ")");
  }
}

}  // namespace

LoadedArchive open_archive(const ModelDescription& description) {
  return loaded(description, [&] {
    const auto values = std::make_shared<ArchiveValues>(description.archive);
    std::optional<torch::jit::Module> module = values->load();
    if (!module) module = torch::jit::load(description.archive);
    require_trainable(*module, description.archive);
    return LoadedArchive{*module, values};
  });
}

torch::jit::Module load_archive(const ModelDescription& description) {
  return loaded(description, [&] {
    torch::jit::Module module = torch::jit::load(description.archive);
    require_trainable(module, description.archive);
    return module;
  });
}

at::ScalarType own_type(const torch::jit::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.is_floating_point()) return parameter.scalar_type();
  }
  return at::kFloat;
}

std::string reason_of(const std::exception& error) {
  const auto* const known = dynamic_cast<const c10::Error*>(&error);
  const std::string text = known != nullptr ? known->what_without_backtrace() : error.what();
  // The interpreter begins with where it was, and ends with what happened.
  if (text.starts_with("The following operation failed in the TorchScript interpreter")) {
    const std::size_t end = text.find_last_not_of('\n');
    const std::size_t begin = text.rfind('\n', end) + 1;
    return text.substr(begin, end + 1 - begin);
  }
  return text.substr(0, text.find('\n'));
}

namespace {

ArchiveGraph graph_of(const torch::jit::Module& module, const ModelDescription& description,
                      std::int64_t tokens) {
  ScriptFlow flow(module);
  check_inputs(flow.inputs(), description, description.archive);
  try {
    if (flow.graph().undivided.empty()) {
      flow.try_out([&](std::int64_t samples) {
        return trial_inputs(flow.inputs(), description, samples, tokens, own_type(module));
      });
    }
  } catch (const std::exception& error) {
    // Whether it runs as a whole is seen when it is measured.
    ArchiveGraph none;
    none.undivided = "its operations cannot be run one by one on 2, 3 and 5 samples of " +
                     (description.image.empty() ? std::to_string(tokens) + " tokens" : "images") +
                     " (" + reason_of(error) + ")";
    return none;
  }
  return flow.graph();
}

}  // namespace

void let_go_of_tensors(const torch::jit::Module& module) {
  const auto empty = [](at::Tensor tensor) {
    tensor.mutable_grad().reset();
    tensor.set_data(at::empty({0}, tensor.options().requires_grad(false)));
  };
  for (const at::Tensor& parameter : module.parameters()) empty(parameter);
  for (const at::Tensor& buffer : module.buffers()) empty(buffer);
  malloc_trim(0);  // main() has freed memory kept, for the search's sake
}

ArchiveGraph read_archive_graph(const ModelDescription& description, std::int64_t tokens) {
  const torch::jit::Module module = load_archive(description);
  ArchiveGraph graph = graph_of(module, description, tokens);
  let_go_of_tensors(module);
  return graph;
}

}  // namespace penstock
