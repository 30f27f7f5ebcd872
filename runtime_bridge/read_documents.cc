// One pass over the lines of every file. A line is made a list of ids, or two; what they must be
// like is looked at in one place, so that texts and JSON are refused alike.
#include "runtime_bridge/read_documents.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/expanded_names.h"

namespace penstock {
namespace {

constexpr std::string_view kHelp =
    "help: a document a line: text, or JSON with token ids (\"tokens\") or text (\"text\"); of an "
    "encoder-decoder model two of them, text with a tab in between, or \"input_ids\" and "
    "\"labels\", or \"inputs\" and \"targets\"";

using Ids = std::vector<std::int32_t>;

Ids ids_of_text(std::string_view text) {
  Ids ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

struct PartNames {
  std::string_view first, second;
};
constexpr PartNames kParts[] = {{"input_ids", "labels"},
                                {"inputs", "targets"},
                                {"tokens", ""},
                                {"text", ""},
                                {"input_ids", ""}};

class DocumentsReader {
 public:
  DocumentsReader(const ModelDescription& model, int most)
      : model_(model), most_(most), files_{DocumentSet(model.family == ModelFamily::kT5), {}, {}} {}

  void read(const std::string& file) {
    file_ = file;
    line_number_ = 0;
    const std::string text = read_file(file);
    std::string_view rest = text;
    std::optional<bool> is_json;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line_number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      const std::size_t first = line.find_first_not_of(" \t");
      if (first == std::string_view::npos) continue;
      if (!is_json) is_json = line[first] == '{';
      if (*is_json) {
        add_json(line);
      } else {
        add_text(line);
      }
    }
    files_.names.push_back(file);
    files_.bytes += text;
  }

  DocumentFiles take() {
    if (files_.documents.documents() == 0) {
      throw_bad_input(file_ + ": there are no documents\n" + std::string(kHelp));
    }
    return std::move(files_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(file_ + ":" + std::to_string(line_number_) + ": " + message);
  }

  void add_text(std::string_view line) {
    const std::size_t tab = files_.documents.pairs() ? line.find('\t') : std::string_view::npos;
    if (tab == std::string_view::npos) return add(ids_of_text(line), {});
    add(ids_of_text(line.substr(0, tab)), ids_of_text(line.substr(tab + 1)));
  }

  void add_json(std::string_view line) {
    const Json json = parse_json(line, place());
    if (json.kind() != Json::Kind::kObject) {
      fail("expected a JSON object, as the first line is\n" + std::string(kHelp));
    }
    for (const PartNames& names : kParts) {
      const Json* first = json.find(names.first);
      const Json* second = names.second.empty() ? nullptr : json.find(names.second);
      if (first == nullptr || (second == nullptr && !names.second.empty())) continue;
      return add(ids_in(*first, names.first),
                 second != nullptr ? ids_in(*second, names.second) : Ids());
    }
    fail("no member holds token ids or text\n" + std::string(kHelp));
  }

  [[nodiscard]] std::string place() const { return file_ + ":" + std::to_string(line_number_); }

  [[nodiscard]] Ids ids_in(const Json& value, std::string_view name) const {
    if (value.kind() == Json::Kind::kString) return ids_of_text(value.text());
    Ids ids;
    for (const JsonReader& id : JsonReader(value, place(), "/" + std::string(name)).elements()) {
      ids.push_back(
          static_cast<std::int32_t>(id.integer(0, std::numeric_limits<std::int32_t>::max())));
    }
    return ids;
  }

  void require_known(const Ids& ids) const {
    for (const std::int32_t id : ids) {
      if (id < model_.vocabulary) continue;
      fail("token id " + std::to_string(id) + " is outside the model's vocabulary of " +
           std::to_string(model_.vocabulary) +
           "\nhelp: tokenise for this model, or profile one with a larger --vocabulary");
    }
  }

  void add(const Ids& ids, const Ids& target) {
    require_known(ids);
    require_known(target);
    if (files_.documents.pairs() && (ids.empty() || target.empty())) {
      fail(std::string(ids.empty() ? "the first" : "the second") +
           " part of the document is empty, and the model has an encoder and a decoder\n" +
           std::string(kHelp));
    }
    if (ids.size() + target.size() < 2) {
      fail("a document of one token has nothing to predict\nhelp: leave it out");
    }
    files_.documents.add(ids, target, most_);
  }

  const ModelDescription& model_;
  const int most_;
  DocumentFiles files_;
  std::string file_;
  std::int64_t line_number_ = 0;
};

void require_family(const ModelDescription& model) {
  switch (model.family) {
    case ModelFamily::kGpt:
    case ModelFamily::kMlp:
    case ModelFamily::kT5:
      return;
    case ModelFamily::kBert:
    case ModelFamily::kTorchScript:
      break;
  }
  throw_bad_input("--documents: a model of the family " + std::string(name_of(model.family)) +
                  " takes samples of one length, because " +
                  (model.family == ModelFamily::kBert
                       ? "it would attend to the padding of shorter ones"
                       : "an archive is divided for one length") +
                  "\nhelp: give --data, or train gpt, mlp or t5");
}

}  // namespace

DocumentFiles read_documents(const std::vector<std::string>& names, const ModelDescription& model,
                             int most) {
  require_family(model);
  DocumentsReader reader(model, most);
  for (const std::string& name : expanded_names(names)) reader.read(name);
  return reader.take();
}

}  // namespace penstock
