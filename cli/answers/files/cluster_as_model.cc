#include "cli/answers/files/cluster_as_model.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/complete_command.h"
#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/words/is_among.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// The model in this folder, where there is one of the usual name.
std::string model_here() {
  for (const char* name : {"config.json", "profile.json"}) {
    if (is_model_file(name)) return name;
  }
  return "";
}

// The file that begins with its folder or is there: "data/clusters/h100.json" beside another one.
bool is_cluster(const std::string& word, const std::string& first) {
  if (word.starts_with('-') || !word.ends_with(".json") || is_model_file(word)) return false;
  const std::filesystem::path folder = std::filesystem::path(first).parent_path();
  return role_of(word) == FileRole::kCluster ||
         (!is_there(word) && std::filesystem::path(word).parent_path() == folder);
}

// "compare a.json b.json" of clusters: one model is planned on each of them.
void refuse_several_clusters(const std::string& model, const Arguments& arguments) {
  Arguments clusters, missing, others;
  for (const std::string& word : arguments) {
    if (!is_cluster(word, arguments.front())) {
      others.push_back(word);
      continue;
    }
    if (is_among(clusters, word)) continue;  // once as the model, once with --cluster
    clusters.push_back(word);
    if (!is_there(word)) missing.push_back(word);
  }
  if (clusters.size() < 2) return;
  const Arguments models = typed_files(others).models;
  const std::string planned = models.empty() ? model : models[0];
  std::erase(others, planned);
  std::erase(others, "--cluster");
  Arguments words{planned, "--vary", "cluster=" + joined(clusters, ",")};
  words = with_taken("compare", std::move(words), others);
  throw_bad_input(fmt::format(
      "{}: this is a cluster, and a model belongs here{}\nhelp: the model comes first, and is "
      "planned on each cluster: {}; its column $/Mtok is the price, where a cluster file has one",
      arguments.front(),
      missing.empty() ? "" : fmt::format("; {} is not there", joined(missing, ", ")),
      whole_command("compare", words)));
}

// "--cluster=config.json" as two words.
Arguments with_cluster_apart(const Arguments& arguments) {
  constexpr std::string_view kCluster = "--cluster=";
  Arguments words;
  for (const std::string& word : arguments) {
    if (word.starts_with(kCluster)) words.emplace_back("--cluster");
    words.push_back(word.starts_with(kCluster) ? word.substr(kCluster.size()) : word);
  }
  return words;
}

// "plan cluster.json --model config.json": with the options that the verb takes.
std::string command_with_cluster(const std::string& verb, const std::string& model,
                                 const Arguments& arguments) {
  const Arguments models = typed_files(arguments).models;
  Arguments words{models.empty() ? model : models[0]}, others = arguments;
  others.erase(others.begin());
  std::erase_if(others, [&](const std::string& word) { return word == words[0]; });
  words.insert(words.end(), {"--cluster", arguments.front()});
  const Arguments taken = options_taken(verb, words[0], others);
  words.insert(words.end(), taken.begin(), taken.end());
  return whole_command(verb, words);
}

}  // namespace

void refuse_cluster_as_model(const std::string& verb, const Arguments& arguments) {
  const std::string& cluster = arguments.front();
  const std::string what = fmt::format(
      "{}: this is a cluster, and a model belongs here\nhelp: the model comes first, the "
      "cluster after its option: ",
      cluster);
  const std::string model = model_here().empty() ? "config.json" : model_here();
  refuse_several_clusters(model, arguments);
  Arguments words = with_cluster_apart(arguments);
  const bool is_model_behind = words.size() > 1 && is_model_file(words[1]);
  if (is_model_behind) words.erase(words.begin());
  const auto read = read_by_verb(verb, words);
  if (!read) throw_bad_input(what + command_with_cluster(verb, model, arguments));
  const auto other = value_of(*read, {"--cluster"});
  if (!is_model_behind) words.front() = other && is_model_file(*other) ? *other : model;
  if (!other) {
    words.insert(words.begin() + 1, {"--cluster", cluster});
  } else if (is_model_file(*other)) {
    std::replace(words.begin() + 1, words.end(), *other, cluster);
  }
  throw_bad_input(what + complete_command(verb, words, *read, "512"));
}

}  // namespace penstock
