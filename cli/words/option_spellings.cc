#include "cli/words/option_spellings.h"

#include <algorithm>
#include <array>
#include <span>

#include "cli/words/is_among.h"
#include "cli/words/longest_name.h"

namespace penstock {
namespace {

// Sections of torchtitan's and DeepSpeed's names in which a word means what it means here; in
// others (validation.seq_len, comm.timeout) it is about something else.
bool is_about_layout(std::string_view section) {
  constexpr std::array<std::string_view, 7> kSections{
      "training", "parallelism",      "model", "activation-checkpoint", "optimizer",
      "pipeline", "zero-optimization"};
  return is_among(kSections, section);
}

bool is_about_memory(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords{"mem", "vram", "hbm", "reserve"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view each) { return word.find(each) != std::string::npos; });
}

bool has_any(std::string_view word, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return word.find(part) != std::string_view::npos;
  });
}

// "bs" of "bs-per-gpu", and none of "jobs-per-gpu".
bool has_part(std::string_view word, std::string_view part) {
  const std::size_t at = word.find(part), end = at + part.size();
  return at != std::string_view::npos && (at == 0 || word[at - 1] == '-') &&
         (end == word.size() || word[end] == '-');
}

// "tensor" of "tensor-model-parallel-size": what is divided, without the words that say that it is.
std::string without_parallel(std::string word) {
  constexpr std::string_view kParallel = "-parallel";
  const std::size_t at = word.find(kParallel);
  if (at == std::string::npos) return "";
  word.erase(at, kParallel.size());
  for (const std::string_view rest : {"-model", "-size", "-degree"}) {
    if (const std::size_t part = word.find(rest); part != std::string::npos) {
      word.erase(part, rest.size());
    }
  }
  return word;
}

}  // namespace

bool is_of_one(std::string_view word) {
  constexpr std::array<std::string_view, 13> kOne{
      "per-gpu",      "per-device", "per-rank",       "per-worker",  "per-process",
      "per-card",     "pergpu",     "perdevice",      "local-batch", "batch-local",
      "device-batch", "gpu-batch",  "per-accelerator"};
  return has_any(word, kOne);
}

bool is_batch(std::string_view word) {
  constexpr std::array<std::string_view, 4> kBatch{"batch", "sample", "sequence", "seqs"};
  constexpr std::array<std::string_view, 4> kOther{"eval", "valid", "test", "len"};
  return (has_any(word, kBatch) || has_part(word, "bs")) && !has_any(word, kOther);
}

bool is_zero(std::string_view word) {
  return word == "zero" || word == "zero-stage" || word == "zero-optimization-stage" ||
         word == "zero-optimization.stage";
}

std::vector<std::string> spellings_of(const std::string& word) {
  std::vector<std::string> out{word};
  if (word.size() > kLongestName) return out;
  constexpr std::string_view kIsm = "parallelism";
  if (const std::size_t ism = word.find(kIsm); ism != std::string::npos && ism > 0) {
    out.push_back(word.substr(0, ism) + "parallel" + word.substr(ism + kIsm.size()));
  }
  if (std::string bare = without_parallel(out.back()); !bare.empty()) out.push_back(bare);
  if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) {
    std::string dashes = word;
    std::replace(dashes.begin(), dashes.end(), '.', '-');
    out.push_back(dashes);
    const bool is_stage = word.ends_with(".stage");
    if (is_about_layout(word.substr(0, dot)) && !is_stage) out.push_back(word.substr(dot + 1));
    if (word.ends_with(".enabled") || word.ends_with(".enable")) out.push_back(word.substr(0, dot));
  }
  constexpr std::array<std::string_view, 6> kBefore{"use-", "enable-", "with-",
                                                    "num-", "target-", "train-"};
  constexpr std::array<std::string_view, 9> kBehind{"-size", "-degree", "-count", "-name", "-type",
                                                    "-mode", "-number", "-gb",    "-gib"};
  for (std::size_t i = 0; i < out.size(); ++i) {  // also of what was found: num-train-epochs
    for (const std::string_view before : kBefore) {
      if (out[i].starts_with(before)) out.emplace_back(out[i], before.size());
    }
  }
  for (std::size_t i = 0, whole = out.size(); i < whole; ++i) {
    for (const std::string_view behind : kBehind) {
      if (behind.starts_with("-g") && !is_about_memory(out[i])) continue;
      if (out[i].ends_with(behind)) out.push_back(out[i].substr(0, out[i].size() - behind.size()));
    }
  }
  for (std::size_t i = 0, whole = out.size(); i < whole; ++i) {
    if (out[i] == "stage") continue;  // ZeRO's or the pipeline's
    out.push_back(out[i].ends_with('s') ? out[i].substr(0, out[i].size() - 1) : out[i] + 's');
  }
  return out;
}

bool is_batch_of_one(std::string_view word) {
  return is_of_one(word) && is_batch(word) && word.find("token") == std::string_view::npos;
}

}  // namespace penstock
