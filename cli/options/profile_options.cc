// Options as typed, then one function that makes the request of them. Numbers are bounded, lists
// have no duplicates, and options of a kind of model that was not named are refused, so that none
// is passed over in silence.
#include "cli/options/profile_options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/io/files.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/parse.h"
#include "training/archive_file.h"
#include "training/model_from_config.h"

namespace penstock {
namespace {

constexpr int kWidest = 1 << 20;
constexpr int kMostSamples = 1'000'000;
constexpr int kMostRanks = 64;

int number_of(const char* option, const std::optional<std::string>& text, int otherwise,
              int least = 1, int most = kWidest) {
  return parse_count(option, text, least, otherwise, most);
}

// "profile config.json --device h100-sxm": another verb has the GPUs that are not here.
std::string help_for_device(const std::string& model, const std::string& device,
                            const Arguments& typed) {
  constexpr std::string_view kCuda = "cuda";
  std::string index = device;
  if (index.starts_with("gpu") || index.starts_with(kCuda))
    index.erase(0, index.find_first_of("0123456789"));
  if (!index.empty() && index.find_first_not_of("0123456789") == std::string::npos) {
    return fmt::format("write --device cuda:{}, the GPU of this number on this machine", index);
  }
  const std::string gpu = is_like_gpu(device) ? device : "h100-sxm";
  const std::string file = role_of(model) == FileRole::kModel ? model : "config.json";
  Arguments words = typed;
  std::replace(words.begin(), words.end(), device, gpu);
  return fmt::format(
      "expected cpu, cuda or cuda:N, a device of this machine, which is measured; {} estimates for "
      "a GPU that is not here, and plan takes --device {} at once",
      whole_command("estimate", with_taken("estimate", {file}, words)), gpu);
}

// "cpu", "cuda" and "cuda:1".
bool is_here(std::string_view device) {
  constexpr std::string_view kCuda = "cuda";
  if (device == "cpu" || device == kCuda) return true;
  return device.starts_with(kCuda) && device.size() > kCuda.size() && device[kCuda.size()] == ':';
}

std::vector<int> numbers_of(const char* option, const std::string& text) {
  std::vector<int> numbers;
  for (const std::string& part : parse_list(option, text)) {
    numbers.push_back(parse_int(option, part, 1, kMostSamples));
  }
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
    bad_option(option, fmt::format("a size is given twice in {}", text), "keep one of them");
  }
  return numbers;
}

std::vector<bool> modes_of(const std::string& text) {
  std::vector<bool> modes;
  for (const std::string& part : parse_list("--recompute", text)) {
    if (part != "none" && part != "full") {
      bad_option("--recompute", fmt::format("there is no mode '{}'", part),
                 "expected none, full or none,full");
    }
    const bool mode = part == "full";
    if (std::find(modes.begin(), modes.end(), mode) != modes.end()) {
      bad_option("--recompute", fmt::format("'{}' is given twice", part), "keep one of them");
    }
    modes.push_back(mode);
  }
  return modes;
}

template <class Value>
Value word_of(const char* option, const std::string& text, std::optional<Value> value,
              const std::string& words) {
  if (!value) bad_option(option, fmt::format("there is no '{}'", text), "expected " + words);
  return *value;
}

bool is_built_in(const std::string& model) {
  const std::optional<ModelFamily> family = model_family_named(model);
  return family && *family != ModelFamily::kTorchScript;
}

}  // namespace

int ProfileRequest::ranks() const {
  return std::max(model ? 1 + beside : 1, links ? participants : 1);
}

void ProfileOptions::declare(Options& options) {
  options.keep_command(command_);
  options.heading("The model");
  options.positional_if_any(
      "MODEL",
      "gpt, bert, mlp or t5 with the sizes below; a Hugging Face config.json; or a TorchScript "
      "archive (.pt; loading it runs its author's code, so take it only from people you trust). "
      "Without a MODEL, or with none, only --links are measured",
      model_);
  options.option("--layers", "N", "number of blocks; with t5, blocks of the encoder; default 4",
                 layers_);
  options.option("--decoder-layers", "N", "t5: blocks of the decoder; default as many as --layers",
                 decoder_layers_);
  options.option("--hidden", "N", "hidden size; default 256", hidden_);
  options.option("--heads", "N", "attention heads; default hidden / 64, at least 1", heads_);
  options.option("--feed-forward", "N", "inner width of a block; default 4 times hidden",
                 feed_forward_);
  options.option("--vocabulary", "N",
                 "size of the vocabulary; default 256, the least, since tokens are bytes",
                 vocabulary_);
  options.option("--positions", "N", "longest sequence; default 256", positions_);
  options.flag("--tied", "embedding and output head share one weight", tied_);
  options.option(
      "--cutpoints", "LIST",
      "where to cut an archive into sections: auto (default; found in its graph), children (after "
      "each submodule), or names (a wrong name is answered with the list of all)",
      cutpoints_);
  options.option("--precision", "NAME", "float32 (default), bfloat16, float16, float64",
                 precision_);
  options.choices({"float32", "bfloat16", "float16", "float64"});
  options.option("--optimizer", "NAME", "adamw (default) or sgd", optimizer_);
  options.choices({"adamw", "sgd"});
  options.heading("What to measure");
  options.option("--micro-batch-sizes", "LIST", "micro-batch sizes to measure; default 1,2,4",
                 sizes_);
  options.option("--sequence-length", "LIST",
                 "tokens per sample; default the model's positions. Several lengths, such as "
                 "64,128,256, are measured at every micro-batch size, for plans with samples of "
                 "different lengths (penstock dynamic)",
                 sequence_length_);
  options.option(
      "--decoder-length", "LIST",
      "t5: tokens per target, measured with every --sequence-length; default the same lengths",
      decoder_length_);
  options.option("--image", "CxHxW",
                 "the archive takes images instead of tokens: channels, height and width, for "
                 "example 3x224x224",
                 image_);
  options.option("--recompute", "LIST", "none (default), full, or both", recompute_);
  options.flag("--every-section",
               "run all sections instead of the first four of every type (more if they are small)",
               every_section_);
  options.flag("--fused-only", "do not measure input and weight gradient separately", fused_only_);
  options.heading("How");
  options.option("--device", "DEVICE", "cpu (default), cuda or cuda:N", device_);
  options.option("--device-type", "NAME",
                 "name of the device in cluster files; default cpu, or the GPU's own name",
                 device_type_);
  options.option("--beside", "N",
                 "run the same sections on N more ranks at the same time, each on a processor of "
                 "its own, because the ranks of a run share caches and memory; default 1 if there "
                 "is a second processor",
                 beside_);
  options.option("--spread", "PERCENT",
                 "repeat until every median is known to within this; default 0.5", spread_);
  options.option("--budget", "TIME",
                 "time limit for the sections, and the same again for the links; default 60s",
                 budget_);
  options.heading("Links");
  options.flag("--links", "also measure transfers and collectives between ranks of this machine",
               links_);
  options.flag("--busy-links", "measure them once more while all ranks compute", busy_links_);
  options.option("--participants", "N",
                 "number of ranks; collectives of 2 to N ranks are measured; default 2",
                 participants_);
  options.option("--largest", "MIB", "largest message in MiB; default 64, at most 1024", largest_);
}

ModelDescription ProfileOptions::built_in(ModelFamily family) const {
  ModelDescription model;
  model.family = family;
  model.layers = number_of("--layers", layers_, 4);
  if (family == ModelFamily::kT5) {
    model.decoder_layers = number_of("--decoder-layers", decoder_layers_, model.layers);
  } else if (decoder_layers_) {
    bad_option("--decoder-layers", "only t5 has a decoder of its own", "leave it out");
  }
  model.hidden = number_of("--hidden", hidden_, 256);
  if (family != ModelFamily::kMlp) {
    model.heads = number_of("--heads", heads_, std::max(model.hidden / 64, 1));
    if (model.hidden % model.heads != 0) {
      bad_option(
          "--heads",
          fmt::format("{} heads do not divide the hidden size {}", model.heads, model.hidden),
          "give a divisor of --hidden");
    }
  } else if (heads_) {
    bad_option("--heads", "an mlp has no attention", "leave it out");
  }
  model.feed_forward = number_of("--feed-forward", feed_forward_, 4 * model.hidden);
  model.vocabulary = number_of("--vocabulary", vocabulary_, 256, 256);
  model.positions = number_of("--positions", positions_, 256);
  model.tied_embedding = tied_;
  return model;
}

void ProfileOptions::set_model(ProfileRequest& request) const {
  if (!model_ && (layers_ || hidden_ || sizes_ || optimizer_)) {
    bad_option("MODEL", "missing", "gpt, bert, mlp, a config.json or an archive");
  }
  std::string name = model_.value_or("none");
  if (name == "none") return;
  std::error_code error;
  const std::filesystem::path inside = std::filesystem::path(name) / "config.json";
  if (!is_built_in(name) && std::filesystem::exists(inside, error)) name = inside.string();
  ModelDescription model;
  if (is_built_in(name)) {
    model = built_in(*model_family_named(name));
    request.name = fmt::format("{}-{}x{}", name, model.layers, model.hidden);
  } else {
    if (layers_ || hidden_ || heads_ || feed_forward_ || vocabulary_ || positions_ || tied_) {
      bad_option("--layers, --hidden, ...", fmt::format("{} has its own sizes", name),
                 "leave these options out, or give gpt, bert, mlp or t5 as MODEL");
    }
    if (name.ends_with(".py")) {
      bad_option("MODEL", fmt::format("'{}' is code, which is not run here", name),
                 "save it as an archive, torch.jit.script(model).save(\"model.pt\"), and measure "
                 "that: penstock profile model.pt; a model of Hugging Face's has a config.json");
    }
    const bool is_path = name.find_first_of("./") != std::string::npos;  // whose reader refuses it
    if (!is_path && !std::filesystem::exists(name)) {
      bad_option("MODEL", fmt::format("'{}' is no file and no model that is built in", name),
                 "give the path of a config.json or a TorchScript archive, or gpt, bert, mlp or t5 "
                 "with sizes: penstock profile gpt --layers 12 --hidden 768");
    }
    request.name = std::filesystem::path(name).stem().string();
    const bool is_json = name.ends_with(".json") || !std::filesystem::exists(name, error);
    if (is_json) {  // of what is not there JSON's reader says where it may be
      const Json json = load_json(name).value;
      expect_format(json, name, "config.json");
      const ConfiguredModel configured = model_from_config(json, name);
      model = configured.description;
      request.model_notes = configured.differences;
      const std::string folder = std::filesystem::path(name).parent_path().filename().string();
      if (request.name == "config" && !folder.empty()) request.name = folder;
    } else {
      model.family = ModelFamily::kTorchScript;
      model.archive = name;
      model.archive_hash = hash_of_archive(name);
    }
  }
  if (precision_) {
    model.precision = word_of("--precision", *precision_, precision_named(*precision_),
                              "float32, bfloat16, float16 or float64");
  }
  if (optimizer_) {
    model.optimizer =
        word_of("--optimizer", *optimizer_, optimizer_named(*optimizer_), "adamw or sgd");
  }
  request.model = model;
}

void ProfileOptions::set_cutpoints(ProfileRequest& request) const {
  const bool is_archive = request.model && request.model->family == ModelFamily::kTorchScript;
  if (!is_archive) {
    if (cutpoints_) {
      bad_option("--cutpoints", "only archives are cut at names", "leave it out");
    }
    return;
  }
  request.cutpoints = parse_list("--cutpoints", cutpoints_.value_or("auto"));
  for (const std::string& name : request.cutpoints) {
    if (request.cutpoints.size() > 1 && (name == "auto" || name == "children")) {
      bad_option("--cutpoints", fmt::format("'{}' cannot be mixed with names", name),
                 "give it alone, or only names");
    }
  }
}

// Of images: channels, height and width.
std::vector<std::int64_t> ProfileOptions::image_sizes() const {
  constexpr int kLargest = 1 << 16;
  std::vector<std::int64_t> sizes;
  std::size_t from = 0;
  while (from <= image_->size()) {
    const std::size_t to = std::min(image_->find('x', from), image_->size());
    sizes.push_back(parse_int("--image", image_->substr(from, to - from), 1, kLargest));
    from = to + 1;
  }
  if (sizes.size() != 3) {
    bad_option("--image", fmt::format("'{}' is not channels x height x width", *image_),
               "for example 3x224x224, or 1x28x28");
  }
  return sizes;
}

void ProfileOptions::set_image(ProfileRequest& request) const {
  if (!image_) return;
  if (!request.model || request.model->family != ModelFamily::kTorchScript) {
    bad_option("--image", "only archives take images", "leave it out, or name an archive");
  }
  if (sequence_length_) {
    bad_option("--sequence-length", "the archive takes images (--image), not tokens",
               "leave out one of the two");
  }
  request.model->image = image_sizes();
}

void ProfileOptions::set_sizes(ProfileRequest& request) const {
  request.micro_batch_sizes = numbers_of("--micro-batch-sizes", sizes_.value_or("1,2,4"));
  request.recompute = modes_of(recompute_.value_or("none"));
  request.every_section = every_section_;
  request.splits = !fused_only_;
  if (!request.model) return;
  if (!request.model->image.empty()) {
    request.sequence_length = 1;  // one target each
    return;
  }
  const bool is_archive = request.model->family == ModelFamily::kTorchScript;
  const bool has_decoder = request.model->family == ModelFamily::kT5;
  if (decoder_length_ && !has_decoder) {
    bad_option("--decoder-length", "only t5 has a decoder of its own", "leave it out");
  }
  if (is_archive && !sequence_length_) {
    bad_option("--sequence-length", "missing",
               "an archive does not say how many tokens it takes; if it takes images, give --image "
               "3x224x224 instead");
  }
  request.sequence_length = request.model->positions;
  if (sequence_length_) {
    request.sequence_lengths = numbers_of("--sequence-length", *sequence_length_);
    request.sequence_length = request.sequence_lengths.back();
  }
  if (has_decoder) {
    request.decoder_lengths = request.sequence_lengths;
    if (decoder_length_) {
      request.decoder_lengths = numbers_of("--decoder-length", *decoder_length_);
    }
    if (request.decoder_lengths.empty()) request.decoder_lengths = {request.sequence_length};
    if (request.decoder_lengths.back() > request.model->positions) {
      bad_option("--decoder-length",
                 fmt::format("{} is beyond the model's {} positions",
                             request.decoder_lengths.back(), request.model->positions),
                 "shorten it, or give --positions");
    }
  }
  if (is_archive && request.sequence_lengths.size() > 1) {
    bad_option("--sequence-length", "an archive is cut for one length",
               "give one length, and measure the others in further runs with --resume");
  }
  if (!is_archive && request.sequence_length > request.model->positions) {
    bad_option("--sequence-length",
               fmt::format("{} is beyond the model's {} positions", request.sequence_length,
                           request.model->positions),
               "shorten it, or give --positions");
  }
}

void ProfileOptions::set_links(ProfileRequest& request, int processors) const {
  request.links = links_ || busy_links_;
  request.busy_links = busy_links_;
  request.participants = number_of("--participants", participants_, 2, 2, kMostRanks);
  request.largest_message = {std::int64_t{number_of("--largest", largest_, 64, 1, 1024)} << 20};
  request.beside = number_of("--beside", beside_, processors > 1 && request.device == "cpu" ? 1 : 0,
                             0, kMostRanks - 1);
  if (participants_ && !request.links) {
    bad_option("--participants", "it counts the ranks of --links, and no links are measured",
               "add --links");
  }
  if (!request.links && !request.model) {
    bad_option("MODEL", model_ ? "without a model there is nothing to measure" : "missing",
               "name a model, or add --links to measure only the links");
  }
}

void ProfileOptions::require_device_here() const {
  if (!device_ || is_here(*device_)) return;
  bad_option("--device", fmt::format("there is no '{}'", *device_),
             help_for_device(model_.value_or(""), *device_, command_.words));
}

ProfileRequest ProfileOptions::request(int processors) const {
  ProfileRequest request;
  set_model(request);
  set_cutpoints(request);
  set_image(request);
  set_sizes(request);
  request.device = device_.value_or("cpu");
  require_device_here();
  request.device_type = device_type_.value_or(request.device == "cpu" ? "cpu" : "");
  set_links(request, processors);
  if (spread_) request.error = parse_number("--spread", *spread_, 0.01, 100.0) / 100.0;
  if (budget_) request.budget = parse_time("--budget", *budget_);
  return request;
}

}  // namespace penstock
