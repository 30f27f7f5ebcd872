#include "cli/options/completions.h"

#include <vector>

#include <doctest/doctest.h>

#include "cli/options/options.h"
#include "cli/verbs/verbs.h"

using namespace penstock;

namespace {

OptionTable table() {
  std::string file;
  std::optional<std::string> ranks, mode;
  std::vector<std::string> costs;
  bool json = false;
  Options options("do FILE [OPTIONS]", "Does it.", "  penstock do it\n");
  options.heading("The work");
  options.positional("FILE", "what to do", file);
  options.option("-P,--ranks", "N", "pipeline ranks (of one replica)", ranks);
  options.repeated("--cost", "NAME,...", "it's [dear]", costs);
  options.choices({"low", "high"});
  options.heading("What to print");
  options.option("--mode", "on|off", "how", mode);
  options.flag("--json", "for programs", json);
  return options.table();
}

std::string of(Shell shell) {
  const std::vector<VerbToComplete> verbs{{"do", "does it", table()}};
  return completions(shell, verbs);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the table of options says what was declared, and survives JSON") {
  const OptionTable made = table();
  REQUIRE(made.rows.size() == 7);
  CHECK(made.usage == "do FILE [OPTIONS]");
  CHECK(made.rows[0].positional);
  CHECK(made.rows[0].is_file());
  CHECK(made.rows[1].names == std::vector<std::string>{"-P", "--ranks"});
  CHECK(made.rows[1].heading == "The work");
  CHECK(made.rows[2].is_list());
  CHECK(made.rows[2].repeated);
  CHECK(made.rows[3].choices == std::vector<std::string>{"on", "off"});
  CHECK(made.rows[3].heading == "What to print");
  CHECK_FALSE(made.rows[4].takes_value());
  CHECK(made.rows[5].choices == std::vector<std::string>{"auto", "always", "never"});
  CHECK(made.rows[6].names == std::vector<std::string>{"-h", "--help"});
  CHECK(read_option_table(write_option_table(made)) == made);
}

TEST_CASE("--help --json prints the table of a verb") {
  const std::string text = run_penstock({"check", "--help", "--json"}).text;
  const OptionTable read = read_option_table(parse_json(text, "check"));
  CHECK(read.usage == "check FILE|FOLDER [OPTIONS]");
  REQUIRE(read.rows.size() > 3);
  CHECK(read.rows.back().names == std::vector<std::string>{"-h", "--help"});
}

TEST_CASE("bash: words, values, files, and nothing for numbers") {
  const std::string script = of(Shell::kBash);
  CHECK(has(script, "    do:-P|do:--ranks) return ;;\n"));
  CHECK(has(script, "    do:--cost) _penstock_words 'low high'; return ;;\n"));
  CHECK(has(script, "    do:--mode) _penstock_words 'on off'; return ;;\n"));
  CHECK(has(script,
            "    do) options='-P --ranks --cost --mode --json --color -h --help'; values='' ;;\n"));
}

TEST_CASE("zsh: quotes, brackets and colons are harmless") {
  const std::string script = of(Shell::kZsh);
  CHECK(has(script, "      ':FILE:_files' \\\n"));
  CHECK(has(script, "      '(-P --ranks)'{-P,--ranks}'[pipeline ranks]:N: ' \\\n"));
  CHECK(has(script, "      '*--cost[it`s \\[dear\\]]:NAME,...:_sequence compadd - low high' \\\n"));
  CHECK(has(script, "      '--mode[how]:on|off:(on off)' \\\n"));
}

TEST_CASE("fish: lists are appended to") {
  const std::string script = of(Shell::kFish);
  const std::string start = "complete -c penstock -n '__fish_seen_subcommand_from do'";
  CHECK(has(script, start + " -s P -l ranks -x -d 'pipeline ranks'\n"));
  CHECK(has(script, start + " -l cost -x -a '(__fish_append , low high)' -d 'it\\'s [dear]'\n"));
  CHECK(has(script, start + " -l json -d 'for programs'\n"));
}
