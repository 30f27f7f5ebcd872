// A trainer's flags without the file that they stand in, and a search without the book of plans
// that it writes: what to make first, with what was typed.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/book_range.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/recording_typed.h"
#include "cli/io/shell_word.h"
#include "cli/options/options_entry.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "core/values/error.h"
#include "trainers/flag_names.h"

namespace penstock {
namespace {

bool is_file(const std::string& word) {
  std::error_code error;
  return role_of(word) != FileRole::kNone || std::filesystem::exists(word, error);
}

std::string name_of(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

bool is_option_of(std::string_view verb, const std::string& word) {
  const std::vector<OptionRow> rows = options_of(*find_verb(verb)).rows;
  return std::any_of(rows.begin(), rows.end(), [&word](const OptionRow& row) {
    return std::find(row.names.begin(), row.names.end(), word.substr(0, word.find('='))) !=
           row.names.end();
  });
}

// "check --tensor-model-parallel-size 8 --num-layers 80".
void refuse_flags(const Arguments& arguments) {
  if (arguments.empty() || !arguments[0].starts_with("--")) return;
  bool has_flag = false;
  for (const std::string& word : arguments) {
    if (is_file(word)) return;
    const bool is_flag =
        word.starts_with("--") && !is_option_of("check", word) &&
        (!trainer_with_flag(name_of(word)).empty() || !key_called(name_of(word)).empty());
    has_flag = has_flag || is_flag;
  }
  if (!has_flag) return;
  throw_bad_input(fmt::format(
      "no launch file is given, which holds the arguments of a trainer\nhelp: put the command that "
      "starts the training into a file, with these arguments as they stand: {}",
      command_of("check", with_taken("check", {"run.sh"}, arguments))));
}

// "64" as "8..64:8", the nodes that come and go, "60" as "8..60" and "8" as "1..8": a recording has
// any number up to it.
std::string up_to(const std::string& gpus) {
  constexpr std::size_t kFewDigits = 1;
  constexpr int kPerNode = 8;
  if (!is_digits(gpus) || gpus == "1") return gpus;
  if (gpus.size() <= kFewDigits) return "1.." + gpus;
  const bool are_nodes = gpus.size() < kPerNode && std::stoi(gpus) % kPerNode == 0;
  return "8.." + gpus + (are_nodes ? ":8" : "");
}

// The book that is asked for; its model comes first.
std::string command_of_book(const Arguments& typed) {
  const auto [option, range, words] = book_range(typed);
  const TypedFiles files = typed_files(words);
  const std::string model = !files.models.empty()  ? files.models[0]
                            : !files.plans.empty() ? files.plans[0]
                                                   : "config.json";
  Arguments book = with_taken("plan", {model}, words);
  const auto has = [&book](std::string_view name) {
    return std::find(book.begin(), book.end(), name) != book.end();
  };
  for (const char* name : {"-o", "--gpus", "--nodes"}) {
    const auto at = std::find(book.begin(), book.end(), name);
    const bool is_other = std::string_view(name) == "-o" || !range.empty();
    if (is_other && book.end() - at > 1) book.erase(at, at + 2);
  }
  if (!range.empty()) book.insert(book.end(), {option, range});
  const auto gpus = std::find(book.begin(), book.end(), "--gpus");
  if (book.end() - gpus > 1) *(gpus + 1) = up_to(*(gpus + 1));
  if (range.empty() && !has("--gpus") && !has("--nodes")) {
    book.insert(book.end(), {"--gpus", up_to("64")});
  }
  book.insert(book.end(), {"-o", "book.json"});
  if (role_of(model) == FileRole::kPlan) {  // for other numbers of GPUs, of what it was made from
    std::string command = command_for_its_model("plan", book);
    if (!command.empty()) return command;
    book.front() = "config.json";
  }
  return whole_command("plan", book);
}

// As many as were typed, or the plan has; 64 where nothing says it.
int gpus_in(const Arguments& words, const std::string& plan) {
  std::string gpus = plan.empty() ? "" : plan_made(plan).gpus;
  if (const auto typed = value_of(words, {"--gpus"})) {
    gpus = typed->substr(typed->find_last_of("., ") + 1);  // of "8..64" the most
    gpus = gpus.substr(0, gpus.find(':'));
  }
  constexpr std::size_t kMostDigits = 6;
  return is_digits(gpus) && gpus.size() <= kMostDigits ? std::stoi(gpus) : 64;
}

// A loss that was typed, "--failures 2" or "--lost-nodes 1", and what it is lost of.
struct Loss {
  GivenOption option;
  int all, left;
};
std::optional<Loss> loss_in(const Arguments& words, const std::string& plan) {
  PlanMade made = plan.empty() ? PlanMade{} : plan_made(plan);
  if (const auto gpus = value_of(words, {"--gpus"}); gpus && is_digits(*gpus)) made.gpus = *gpus;
  if (const auto device = value_of(words, {"--device"})) made.device = *device;
  constexpr std::size_t kMostDigits = 6;
  if (!is_digits(made.gpus) || made.gpus.size() > kMostDigits) made.gpus = "64";
  const int all = std::stoi(made.gpus);
  for (const GivenOption& option : given_words({}, words).options) {
    const bool is_count =
        is_among({"failures", "failure", "lose", "lost", "loss"}, plain_name(option)) &&
        is_digits(option.value) && option.value.size() < kMostDigits;
    const int left = is_count ? all - std::stoi(option.value) : gpus_left(option, made);
    if (left > 0 && left < all) return Loss{option, all, left};
  }
  return {};
}

// The recording of that loss.
std::string recording_of(const Loss& loss, const std::string& file) {
  return fmt::format(
      "\nhelp: {} {} is what the recording says: {} writes one of two hours, with {} GPUs in the "
      "first and {} in the second",
      loss.option.name, loss.option.value,
      command_of_recording({std::to_string(loss.all), std::to_string(loss.left)}, file), loss.all,
      loss.left);
}

// "morph config.json --device h100-sxm --min-gpus 8 --max-gpus 64", "morph plan.json --trace
// t.csv".
void refuse_morph_of_search(const Arguments& arguments) {
  const auto has = [&arguments](std::string_view name) {
    return std::any_of(arguments.begin(), arguments.end(), [name](const std::string& word) {
      return word.substr(0, word.find('=')) == name;
    });
  };
  const TypedFiles files = typed_files(arguments);
  const bool is_range = !book_range(arguments).range.empty();
  const bool is_plan = !files.plans.empty() && is_there(files.plans.front());
  const bool is_asked = !files.models.empty() || has("--device") || is_range || is_plan;
  const bool has_other = is_plan && value_of(arguments, {"--book"}) == files.plans.front();
  if ((has("--book") && !has_other) || !is_asked) return;
  const std::string plan = is_plan ? files.plans.front() : "";
  const TypedTrace typed = trace_in(arguments);
  const std::string trace = typed.file.empty() ? std::string(kTrace) : typed.file;
  const auto loss = loss_in(arguments, plan);
  Arguments words = arguments;
  const Arguments course = course_in(words);
  const std::string recorded = range_of_recording(typed.file);
  if (!course.empty()) {
    for (const GivenOption& option : given_words({}, arguments).options) {
      if (option.name == "--gpus")
        words = with_instead(words, option, {"--gpus", numbers_in(course)});
    }
  } else if (loss && !has("--gpus") && !is_range) {
    words.insert(words.end(), {"--gpus", std::to_string(loss->all)});
  } else if (!recorded.empty() && !has("--gpus") && !is_range) {
    words.insert(words.end(), {"--gpus", recorded});
  } else if (const auto least = value_of(words, {"--min"}), most = value_of(words, {"--max"});
             least && most && !has("--gpus")) {
    words.insert(words.end(), {"--gpus", *least + ".." + *most});
  } else if (is_plan && !has("--gpus") && !has("--nodes") && !is_range) {
    words.insert(words.end(), {"--gpus", std::to_string(gpus_in(words, plan))});
  }
  const std::string remark =
      !course.empty() ? fmt::format("; {} GPUs, an hour each, are a recording: {} writes it",
                                    fmt::join(course, ", "), command_of_recording(course, trace))
      : loss          ? recording_of(*loss, trace)
                      : remark_on_trace(typed, gpus_in(words, plan));
  throw_bad_input(
      fmt::format("{}\nhelp: {}: {}; then {}{}",
                  has_other ? plan + ": this is a plan, and a book of plans belongs here"
                            : std::string("--book: missing, the plans for every number of GPUs"),
                  is_plan ? plan + " is one plan, and a book has one for every number of GPUs"
                          : std::string("a book of plans comes first"),
                  command_of_book(words),
                  command_of("morph", {"--book", "book.json", "--trace", trace}), remark));
}

// "plan config.json --min-gpus 8 --max-gpus 64".
void refuse_range_of_plan(const Arguments& arguments) {
  const auto says = [&arguments](const char* what) {
    return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
      const std::string plain = word.starts_with('-') ? plain_word(name_of(word)) : "";
      return plain == fmt::format("{}-gpus", what) || plain == fmt::format("{}-nodes", what);
    });
  };
  if (!says("min") || !says("max") || book_range(arguments).range.empty()) return;
  const std::string thing = book_range(arguments).option.substr(2);
  throw_bad_input(
      fmt::format("unknown options '--min-{0}', '--max-{0}'\nhelp: a book has a plan for every "
                  "number in between: {1}",
                  thing, command_of_book(arguments)));
}

// "plan config.json --availability trace.csv --gpus 64".
void refuse_recording_of_plan(const Arguments& arguments) {
  const OptionTable table = options_of(*find_verb("plan"));
  for (const GivenOption& option : given_words(table, arguments).options) {
    if (!is_recording(option.value) || row_named(table, option.name) != nullptr) continue;
    const Arguments words = with_instead(arguments, option, {});
    throw_bad_input(fmt::format(
        "{}: {} is a recording of GPUs that come and go\nhelp: a book has a plan for every number "
        "of them: {}; then {}",
        option.name, option.value, command_of_book(words),
        command_of("morph", {"--book", "book.json", "--trace", option.value})));
  }
}

}  // namespace

void refuse_verb_without_file(const std::string& verb, const Arguments& arguments) {
  if (verb == "check") refuse_flags(arguments);
  if (verb == "morph") refuse_morph_of_search(arguments);
  if (verb == "multi") refuse_models_of_multi(arguments);
  if (verb != "plan") return;
  refuse_range_of_plan(arguments);
  const bool may_record = std::any_of(arguments.begin(), arguments.end(), [](const auto& word) {
    return is_recording(word.substr(word.find('=') + 1));
  });
  if (may_record) refuse_recording_of_plan(arguments);
}

}  // namespace penstock
