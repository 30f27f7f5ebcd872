#include "cli/answers/options/word_index.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace penstock;

namespace {

OptionRow row(const std::string& name, const std::string& value, const std::string& help) {
  OptionRow out;
  out.names = {name};
  out.value_name = value;
  out.help = help;
  out.positional = !name.starts_with('-');
  return out;
}

// A verb of five options.
WordIndex index_of_five() {
  OptionTable table;
  table.usage = "verb MODEL [OPTIONS]";
  table.rows = {row("MODEL", "", "what is trained"),
                row("--layers", "N", "number of blocks"),
                row("--hidden", "N", "hidden size"),
                row("--transport", "NAME", "gloo: on CPUs. nccl: on GPUs"),
                row("--checkpoint-every", "N", "steps between checkpoints"),
                row("--checkpoint-keep", "N", "complete checkpoints to keep")};
  return WordIndex(table);
}

std::string name_of(const OptionRow* row) { return row == nullptr ? "" : row->names.back(); }

}  // namespace

TEST_CASE("words are parted at signs and capitals, and what stands around them is left out") {
  CHECK(content_words("--trainer.numNodes") == std::vector<std::string>{"trainer", "node"});
  CHECK(content_words("num_layers_size") == std::vector<std::string>{"layer"});
  CHECK(content_words("--n").empty());
}

TEST_CASE("an option is found by its own words, and by words that mean the same") {
  const WordIndex index = index_of_five();
  CHECK(name_of(index.same_words("--n_layer")) == "--layers");
  CHECK(name_of(index.same_words("--n_embd")).empty());
  CHECK(name_of(index.same_meaning("--n_embd")) == "--hidden");
  CHECK(name_of(index.same_meaning("--backend")) == "--transport");
  // "interval" is "every", and "save" a checkpoint.
  CHECK(name_of(index.same_meaning("--save-interval")) == "--checkpoint-every");
  CHECK(name_of(index.same_meaning("--layers-and-blocks-of-hope")).empty());
}

// At least so many layers are not so many: what is meant is said, and nothing put in its place.
TEST_CASE("a bound of something is not the thing") {
  const WordIndex index = index_of_five();
  for (const char* bound :
       {"--max_layers", "--min-layers", "--total-layers", "--layers-per", "--by-layer"}) {
    CAPTURE(bound);
    CHECK(index.same_words(bound) == nullptr);
  }
  CHECK(index.same_meaning("--min-blocks") == nullptr);
  CHECK(name_of(index.same_meaning("--total-blocks")) == "--layers");
}

TEST_CASE("what is longer than any name is compared with none") {
  const WordIndex index = index_of_five();
  std::string typed = "--layers";
  while (typed.size() <= 80) typed += "-num";
  CHECK(index.same_words(typed) == nullptr);
  CHECK(index.same_meaning(typed) == nullptr);
  CHECK(index.about(typed).empty());
}

TEST_CASE("of options that share a word, the one with fewer words unsaid is the nearest") {
  const WordIndex index = index_of_five();
  // "checkpoint" is in two names of two words: both, in the order of the table.
  const auto both = index.about("--ckpt");
  REQUIRE(both.size() == 2);
  CHECK(name_of(both[0]) == "--checkpoint-every");
  CHECK(index.about("--teapot").empty());
}

TEST_CASE("an argument without a name is said to be one") {
  CHECK(index_of_five().help_for_argument("--model_name") ==
        "MODEL is the argument without a name: penstock verb MODEL [OPTIONS]");
  CHECK(index_of_five().help_for_argument("--layers").empty());
}

TEST_CASE("an option is shown with its value and the first sentence of its help") {
  const WordIndex index = index_of_five();
  CHECK(option_shown(*index.same_words("--transport")) == "--transport NAME: gloo: on CPUs");
}

TEST_CASE("help that is cut says so, unless it is cut between sentences") {
  const std::string first(60, 'a'), second(60, 'b');
  CHECK(option_shown(row("--x", "N", first + ", " + second)) == "--x N: " + first + " ...");
  CHECK(option_shown(row("--x", "N", first + "; " + second)) == "--x N: " + first);
  CHECK(option_shown(row("--x", "N", first + ' ' + second)) == "--x N: " + first + " ...");
  CHECK(option_shown(row("--x", "N", first + second)) == "--x N: " + first + second);
}
