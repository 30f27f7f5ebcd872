#include "cli/options/completions.h"

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock completions bash > ~/.local/share/bash-completion/completions/penstock
  penstock completions zsh > ~/.zfunc/_penstock
  penstock completions fish > ~/.config/fish/completions/penstock.fish
  source <(penstock completions bash)
)";

Shell shell_named(const std::string& name) {
  return parse_word<Shell>("SHELL", name,
                           {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}});
}

}  // namespace

Answer run_completions(const Arguments& arguments, Screen screen) {
  std::string shell;
  Options options("completions SHELL",
                  "Prints a script that makes the shell complete the verbs of this build, their "
                  "options, and the values that can be listed.",
                  kExamples);
  options.heading("Options");
  options.positional("SHELL", "bash, zsh or fish", shell);
  options.choices({"bash", "zsh", "fish"});
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const Shell which = shell_named(shell);
  std::vector<VerbToComplete> all;
  for (const Verb& verb : verbs()) {
    all.push_back({std::string(verb.name), std::string(verb.summary), options_of(verb)});
  }
  return {completions(which, all)};
}

}  // namespace penstock
