#include "cli/answers/files/second_model.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"

namespace penstock {
namespace {

// The plan of one of several models, written into that file, with the options of all.
std::string command_for_model(const std::string& model, const char* plan,
                              const Arguments& options) {
  Arguments words = with_taken("plan", {model}, options);
  const auto device = std::find(words.begin(), words.end(), "--device");
  const bool is_profile = role_of(model) == FileRole::kProfile;
  if (is_profile && words.end() - device > 1) words.erase(device, device + 2);  // it names its own
  const auto output = std::find(words.begin(), words.end(), "-o");
  if (words.end() - output > 1) words.erase(output, output + 2);
  words.insert(words.end(), {"-o", plan});
  return whole_command("plan", words);
}

// "compare config.json other.json": `compare` has one model, and a page any number of plans.
std::string help_for_two_models(const Arguments& models, Arguments own) {
  std::erase_if(own, [&models](const std::string& word) { return is_among(models, word); });
  return fmt::format(
      "one model is planned with several settings here; of two make a plan each, and a page of "
      "both: {}; {}; penstock report plan_a.json plan_b.json -o report.html",
      command_for_model(models[0], "plan_a.json", own),
      command_for_model(models[1], "plan_b.json", own));
}

}  // namespace

std::string help_for_second_model(const SurplusWord& surplus) {
  const Arguments& own = surplus.own;
  const std::string& word = surplus.word;
  if (first_argument(surplus.usage) != "MODEL" || own.size() < 2 || own.front().starts_with('-')) {
    return "";
  }
  const std::string verb = surplus.verb(), format = format_of_file(word);
  const std::string first = format_of_file(own.front());
  if (const Arguments models = typed_files({own.front(), word}).models;
      surplus.has("--vary") && models.size() == 2) {
    return help_for_two_models(models, own);
  }
  Arguments words = own;
  words.erase(std::find(words.begin() + 1, words.end(), word));
  if (format.starts_with("penstock.profile") && first.empty()) {
    words.front() = word;
    return fmt::format("a profile takes the place of {}: {}", own.front(), command_of(verb, words));
  }
  if (format.empty() && first.starts_with("penstock.profile") && word.ends_with("config.json")) {
    return fmt::format("the profile has the model's times; leave {} out: {}", word,
                       command_of(verb, words));
  }
  const bool lacks_cluster =
      surplus.has("--cluster") && !surplus.is_given("--cluster") && !surplus.is_given("--device");
  if (!format.starts_with("penstock.cluster") || !lacks_cluster) return "";
  words.insert(words.begin() + 1, {"--cluster", word});
  return "a cluster follows its option: " + command_of(verb, words);
}

}  // namespace penstock
