// From the commands of a script to the flags of its trainer: what it hands to torchrun says the
// GPUs, the rest is the trainer's. Words that the script leaves open are kept as such, so that
// rules on the flags that they may hold can say so.
#include "trainers/lint/launch_script.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

using Words = std::vector<ShellWord>;

constexpr std::size_t kShownText = 100;

bool is_flag(const ShellWord& word) {
  return word.text.size() > 2 && word.text.starts_with("--") && word.text[2] != '-';
}

// A variable that the script does not set, and that holds flags by its name or form.
bool holds_flags(const ShellWord& word) {
  if (word.unresolved.empty() || word.text != word.unresolved) return false;
  if (word.text.find("[@]") != std::string::npos) return true;
  std::string upper;
  for (const char c : word.text) {
    upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  constexpr std::array<std::string_view, 5> kParts{"ARGS", "OPTION", "OPTS", "FLAGS", "PARAMS"};
  constexpr std::array<std::string_view, 3> kEnds{"_ARG", "_FLAG", "_OPT"};
  return std::any_of(
             kParts.begin(), kParts.end(),
             [&upper](std::string_view part) { return upper.find(part) != std::string::npos; }) ||
         std::any_of(kEnds.begin(), kEnds.end(),
                     [&upper](std::string_view end) { return upper.ends_with(end); });
}

// What a plain start of the script leaves empty.
bool is_argument(const ShellWord& word) {
  return word.unresolved.size() == 2 && word.text == word.unresolved &&
         std::string_view("@*0123456789").find(word.unresolved[1]) != std::string_view::npos;
}

// What ends the command in a text that eval reads once more.
bool ends_command(const std::string& text) {
  return text.find_first_not_of("|&;<>0123456789") == std::string::npos &&
         text.find_first_of("|&;<>") != std::string::npos;
}

// A text of several words, as a shell would split it: quotes hold a word together, and go.
Words parts_of(const ShellWord& word) {
  Words parts;
  char quote = '\0';
  bool inside = false;
  for (std::size_t at = 0; at < word.text.size(); ++at) {
    const char c = word.text[at];
    const bool is_blank = quote == '\0' && std::string_view(" \t\r\n").find(c) != std::string::npos;
    if (is_blank) {
      inside = false;
      continue;
    }
    if (!inside) {
      parts.push_back({"", at < word.lines.size() ? word.lines[at] : word.line, "", {}});
    }
    inside = true;
    const bool is_quote = quote == '\0' ? c == '"' || c == '\'' : c == quote;
    if (is_quote) {
      quote = quote == '\0' ? c : '\0';
    } else {
      parts.back().text += c;
    }
  }
  for (ShellWord& part : parts) {
    if (part.text.find('$') != std::string::npos) part.unresolved = part.text;
  }
  return parts;
}

// eval "torchrun ... pretrain_gpt.py ...": the command inside is read as it stands.
Words unpacked(const Words& words) {
  Words all;
  for (const ShellWord& word : words) {
    if (ends_command(word.text)) break;
    const bool is_command =
        word.text.find(".py ") != std::string::npos && word.text.find(" --") != std::string::npos;
    if (!is_command) {
      all.push_back(word);
      continue;
    }
    for (ShellWord& part : parts_of(word)) all.push_back(std::move(part));
  }
  return all;
}

// "$TRAIN" --deepspeed_config FILE: the program is the first word behind the launcher's flags,
// whatever its name.
std::size_t behind_deepspeed_program(const Words& words) {
  const bool has_config = std::any_of(words.begin(), words.end(), [](const ShellWord& word) {
    return word.text.starts_with("--deepspeed_config");
  });
  const auto launcher = std::find_if(words.begin(), words.end(), [](const ShellWord& word) {
    return word.text.ends_with("torchrun") || word.text.ends_with("deepspeed");
  });
  if (!has_config || launcher == words.end()) return words.size();
  for (auto word = launcher + 1; word != words.end(); ++word) {
    if (!word->text.starts_with('-')) {
      return holds_flags(*word) ? words.size() : static_cast<std::size_t>(word - words.begin()) + 1;
    }
    const bool is_alone = word->text.find('=') != std::string::npos || word->text == "--standalone";
    if (!is_alone && word + 1 != words.end()) ++word;
  }
  return words.size();
}

// "++model.seq_length=4096" is of model.seq_length.
std::string name_of_override(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of('+'), text.size());
  return text.substr(begin, text.find('=') - begin);
}

// Where the trainer's own flags begin; the end when no program is named.
std::size_t behind_program(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (text.ends_with(".py") || text.ends_with("run_train.sh")) return i + 1;
    const bool is_module =
        text == "-m" && i + 1 < words.size() && !words[i + 1].text.starts_with("torch.distributed");
    if (is_module) return i + 2;
  }
  return behind_deepspeed_program(words);
}

std::size_t count_flags(const Words& words, std::size_t from) {
  return static_cast<std::size_t>(
      std::count_if(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(),
                    [](const ShellWord& word) { return is_flag(word) || is_override(word.text); }));
}

LaunchSetting setting_of(const ShellWord& flag, const Words& values) {
  LaunchSetting setting;
  setting.line = flag.line;
  setting.text = flag.text;
  setting.unresolved = flag.unresolved;
  const std::size_t equals = flag.text.find('=');
  setting.name = flag.text.substr(0, equals);
  if (equals != std::string::npos) {
    setting.value = Json(flag.text.substr(equals + 1));
  } else if (values.empty()) {
    setting.value = Json(true);
  } else if (values.size() == 1) {
    setting.value = Json(values[0].text);
  } else {
    setting.value = Json::array();
    for (const ShellWord& value : values) setting.value.push(value.text);
  }
  for (const ShellWord& value : values) {
    setting.text += ' ' + value.text;
    if (setting.unresolved.empty()) setting.unresolved = value.unresolved;
  }
  if (setting.text.size() > kShownText) setting.text = setting.text.substr(0, kShownText) + "...";
  return setting;
}

// A flag takes up to `most` of the words behind it.
void add_flags(const Words& words, std::size_t from, std::size_t to, LaunchSettings& settings,
               std::size_t most = 1'000'000) {
  for (std::size_t i = from; i < to; ++i) {
    if (!is_flag(words[i])) continue;
    Words values;
    const ShellWord& flag = words[i];
    const bool has_value = flag.text.find('=') != std::string::npos;
    const auto ends = [](const ShellWord& word) { return is_flag(word) || is_override(word.text); };
    while (!has_value && i + 1 < to && values.size() < most && !ends(words[i + 1])) {
      const ShellWord& value = words[++i];
      // "$@" of a script without arguments is no word at all.
      const bool is_nothing = value.text.empty() || is_argument(value);
      const bool is_value = !holds_flags(value) && !(is_nothing && !values.empty());
      if (is_value) values.push_back(value);
    }
    settings.add(setting_of(flag, values));
  }
}

void add_overrides(const Words& words, std::size_t from, LaunchScript& script) {
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (is_override(text)) {
      LaunchSetting setting = setting_of(words[i], {});
      setting.name = name_of_override(text);
      script.overrides.add(std::move(setting));
    } else if (is_choice(text)) {
      script.choices.add(setting_of(words[i], {}));
    } else if (const std::string name = text.substr(0, text.find('='));
               name == "-cn" || name == "-cp" || name == "-cd") {
      const bool has_value = name.size() == text.size() && i + 1 < words.size();
      script.choices.add(setting_of(words[i], has_value ? Words{words[i + 1]} : Words{}));
    }
  }
}

// Flags of torchrun, whose names are written with dashes as well as underscores.
bool is_torchrun(std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const std::string_view known :
       {"--nproc-per-node", "--nnodes",        "--node-rank",    "--master-addr",
        "--master-port",    "--rdzv-id",       "--rdzv-backend", "--rdzv-endpoint",
        "--rdzv-conf",      "--standalone",    "--max-restarts", "--monitor-interval",
        "--log-dir",        "--redirects",     "--tee",          "--local-ranks-filter",
        "--role",           "--start-method",  "--num-gpus",     "--num-nodes",
        "--hostfile",       "--num-processes", "--num-machines"}) {
    if (dashed == known) {
      name = dashed;
      return true;
    }
  }
  return false;
}

// Torchrun's flags move to the launcher's, wherever they stand: arrays name both.
void part_launcher(LaunchScript& script, const LaunchSettings& all) {
  for (LaunchSetting setting : all.all()) {
    LaunchSettings& to = is_torchrun(setting.name) ? script.launcher : script.flags;
    to.add(std::move(setting));
  }
}

void take_launch(const Words& words, std::size_t from, const ShellScript& shell,
                 LaunchScript& script) {
  LaunchSettings before(script.launcher.file());
  // Torchrun's flags have one value at most; the program follows the last of them.
  add_flags(words, 0, from, before, 1);
  for (LaunchSetting setting : before.all()) {
    if (is_torchrun(setting.name)) script.launcher.add(std::move(setting));
  }
  add_flags(words, from, words.size(), script.flags);
  add_overrides(words, from, script);
  if (from > 0) script.line = words[from - 1].line;
  if (from > 0) script.program = words[from - 1];
  for (std::size_t i = from; i < words.size(); ++i) {
    if (words[i].unresolved.empty() || words[i].text != words[i].unresolved) continue;
    const bool follows_flag = i > from && is_flag(words[i - 1]);
    if (follows_flag && !holds_flags(words[i])) continue;
    // What a condition may put there is known.
    if (shell.alternatives.contains(words[i].text.substr(1))) continue;
    const std::string place =
        fmt::format("{} ({})", words[i].text, shell.lines.words(words[i].line));
    script.not_followed.push_back(place + " may hold more flags");
    if (is_argument(words[i])) continue;
    script.flags.open(place);
    script.overrides.open(place);
  }
}

// No program: all flags there are, in arrays and on lines that begin with one.
void take_all(const ShellScript& shell, LaunchScript& script) {
  LaunchSettings all(script.flags.file());
  const auto take = [&all](const Words& words) { add_flags(words, 0, words.size(), all); };
  for (const Words& words : shell.commands) {
    if (is_flag(words.front())) take(words);
  }
  for (const auto& [name, words] : shell.sets) {
    const bool is_array =
        std::find(shell.arrays.begin(), shell.arrays.end(), name) != shell.arrays.end();
    const std::string_view first = words.empty() ? "" : std::string_view(words.front().text);
    const std::size_t begin = std::min(first.find_first_not_of(" \t\r\n"), first.size());
    if (is_array) {
      take(words);
    } else if (first.substr(begin).starts_with("--") && first.find(' ') != std::string_view::npos) {
      take(parts_of(words.front()));  // MODEL_ARGS="--num-layers 32 ..."
    }
  }
  part_launcher(script, all);
}

[[noreturn]] void refuse_no_rank(const LaunchSettings& launcher, const LaunchSetting& setting) {
  const bool is_slurm = setting.name.starts_with("SLURM_");
  launcher.refuse(setting, fmt::format("'{}' starts no rank", setting.value.text()),
                  is_slurm ? "ask for one or more, as in #SBATCH --nodes=2 --gpus-per-node=8"
                           : fmt::format("write {}{}1 or more", setting.name,
                                         setting.name.starts_with("--") ? " " : "="));
}

std::optional<int> variable(const ShellScript& shell, const std::string& name,
                            const LaunchSettings& launcher) {
  const auto found = shell.sets.find(name);
  if (found == shell.sets.end() || found->second.size() != 1) return {};
  const ShellWord& word = found->second.front();
  const bool is_number = word.unresolved.empty() && !word.text.empty() && word.text.size() < 7 &&
                         word.text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return {};
  const int number = std::stoi(word.text);
  if (number < 1) refuse_no_rank(launcher, {name, Json(word.text), word.line, "", ""});
  return number;
}

// What torchrun, deepspeed and accelerate are told; the last one to say it wins.
void count_gpus(const ShellScript& shell, LaunchScript& script) {
  const LaunchSettings& launcher = script.launcher;
  const LaunchSetting* each = launcher.find("--nproc-per-node");
  const LaunchSetting* nodes = launcher.find("--nnodes");
  if (each == nullptr) each = launcher.find("--num-gpus");
  if (nodes == nullptr) nodes = launcher.find("--num-nodes");
  constexpr int kMost = 1'000'000;
  if (each != nullptr) {
    const auto known = [&script](const LaunchSetting* setting) -> std::optional<std::int64_t> {
      if (setting == nullptr) return 1;
      const bool is_number =
          setting->value.kind() == Json::Kind::kString && setting->unresolved.empty() &&
          !setting->value.text().empty() && setting->value.text().size() < 7 &&
          setting->value.text().find_first_not_of("0123456789") == std::string::npos;
      if (is_number) {
        const std::int64_t number = std::stoll(setting->value.text());
        if (number < 1) refuse_no_rank(script.launcher, *setting);
        return number;
      }
      script.why_no_gpus = setting->unresolved.empty()
                               ? fmt::format("{} is not a number", setting->text)
                               : fmt::format("{} is not set in this script", setting->unresolved);
      return {};
    };
    const auto per_node = known(each), count = known(nodes);
    if (!per_node || !count) return;
    const std::int64_t all = product_of({*per_node, *count});
    if (all <= kMost) script.gpus = static_cast<int>(all);
    return;
  }
  script.gpus = variable(shell, "NGPU", launcher);
  if (script.gpus) return;
  // srun starts a task per GPU: what #SBATCH asks for is the job.
  const auto hosts = variable(shell, "SLURM_NNODES", launcher);
  auto of_host = variable(shell, "SLURM_GPUS_PER_NODE", launcher);
  if (!of_host) of_host = variable(shell, "SLURM_NTASKS_PER_NODE", launcher);
  if (!hosts || !of_host) return;
  const std::int64_t all = product_of({*hosts, *of_host});
  if (all <= kMost) script.gpus = static_cast<int>(all);
}

}  // namespace

LaunchScript read_launch_script(std::string_view text, const std::string& file,
                                const FindBeside& beside) {
  const ShellScript shell = read_shell_script(text, file, beside);
  LaunchScript script(file);
  script.lines = shell.lines;
  script.not_followed = shell.not_followed;
  script.flags.set_lines(shell.lines);
  script.overrides.set_lines(shell.lines);
  script.choices.set_lines(shell.lines);
  script.launcher.set_lines(shell.lines);
  Words best, bare;  // a program with flags; one with flags of its launcher alone
  std::size_t most = 0, launches = 0;
  for (const Words& command : shell.commands) {
    Words words = unpacked(command);
    const std::size_t flags = count_flags(words, behind_program(words));
    if (flags == 0) {
      if (behind_program(words) < words.size() && count_flags(words, 0) > 0) bare = words;
      continue;
    }
    ++launches;
    if (flags < most) continue;
    most = flags;
    best = std::move(words);
  }
  // A command in a text that the script writes elsewhere, or hands on in a way that is not
  // followed.
  for (auto held = shell.sets.begin(); most == 0 && held != shell.sets.end(); ++held) {
    if (held->second.size() != 1) continue;
    Words words = unpacked(held->second);
    if (words.size() > 1 && count_flags(words, behind_program(words)) > 0) {
      most = count_flags(words, behind_program(words));
      best = std::move(words);
    }
  }
  if (most == 0) {
    take_all(shell, script);
    if (!bare.empty()) take_launch(bare, behind_program(bare), shell, script);
  } else {
    take_launch(best, behind_program(best), shell, script);
  }
  if (launches > 1) {
    script.not_followed.push_back(fmt::format("{} programs are started; the one of {} was judged",
                                              launches,
                                              shell.lines.words(script.line.value_or(0))));
  }
  for (const ShellWord& flag : shell.conditional) {
    if (is_override(flag.text)) {
      script.overrides.add_conditional(name_of_override(flag.text), flag.line);
      continue;
    }
    if (is_choice(flag.text)) {
      script.choices.add_conditional(flag.text.substr(0, flag.text.find('=')), flag.line);
      continue;
    }
    script.flags.add_conditional(flag.text.substr(0, flag.text.find('=')), flag.line);
  }
  count_gpus(shell, script);
  return script;
}

}  // namespace penstock
