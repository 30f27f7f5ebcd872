// The files beside a script that it reads: source FILE, bash FILE, $(cat FILE). Only files that
// `beside` finds are read, each within kLargestScript, and no file inside itself. A path whose
// beginning the script does not say, as "$here/args.sh" with here=$(dirname "$0"), is looked for
// beside the script: that is what scripts write so. What was read, and what was not, is told.
#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "trainers/lint/shell_reader.h"
#include "trainers/lint/source_lines.h"

namespace penstock {
namespace {

constexpr std::size_t kMostFiles = 64, kDeepestFile = 8;

bool is_text(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r';
  });
}

ShellText text_of(const ShellWord& word) {
  ShellText text;
  std::string_view rest = word.text;
  if (!word.unresolved.empty()) {
    text.add_unknown(word.unresolved, word.line);
    rest.remove_prefix(rest.starts_with(word.unresolved) ? word.unresolved.size() : rest.size());
  }
  text.add(rest, word.line);
  return text;
}

}  // namespace

std::string path_beside_script(const ShellWord& word) {
  std::string_view path = word.text;
  if (!word.unresolved.empty()) {
    if (!path.starts_with(word.unresolved + '/')) return "";
    path.remove_prefix(word.unresolved.size());
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  }
  if (path.empty() || path.front() == '/' || path.find('$') != std::string_view::npos) return "";
  return std::filesystem::path(path).lexically_normal().generic_string();
}

std::optional<ShellReader::Beside> ShellReader::find_beside(const ShellWord& word,
                                                            std::string& why_not) {
  const std::string path = path_beside_script(word);
  if (path.empty() || !beside_) {
    why_not = path.empty() && beside_ ? "its path is not in the script's folder" : "";
    return {};
  }
  const std::filesystem::path folder =
      open_files_.empty() ? "" : std::filesystem::path(open_files_.back()).parent_path();
  for (const std::string& name : {(folder / path).lexically_normal().generic_string(), path}) {
    if (std::find(open_files_.begin(), open_files_.end(), name) != open_files_.end()) {
      why_not = "it would read itself";
      return {};
    }
    if (open_files_.size() >= kDeepestFile || files_read_ >= kMostFiles) {
      why_not = fmt::format("more than {} files, or {} in each other, are not read", kMostFiles,
                            kDeepestFile);
      return {};
    }
    std::optional<std::string> text = beside_(name);
    if (!text) continue;
    characters_read_ += text->size();
    if (characters_read_ > kLargestScript || !is_text(*text)) {
      why_not = "it is too large for a script, or no text";
      return {};
    }
    ++files_read_;
    const std::filesystem::path shown = std::filesystem::path(file_).parent_path() / name;
    const int first = script_.lines.add(shown.generic_string(), line_count_of(*text), main_lines_);
    script_.read_too += *text;
    script_.read_too += '\n';
    return Beside{name, std::move(*text), first};
  }
  why_not = "there is no such file beside the script";
  return {};
}

void ShellReader::note_read(const Beside& file, int line) {
  const std::string note =
      fmt::format("{} was read as well ({})", file.path, script_.lines.words(line));
  script_.not_followed.push_back(note);
}

void ShellReader::read_beside(const Beside& file) {
  const std::string_view outer_text = std::exchange(text_, file.text);
  const std::vector<int>* outer_lines = std::exchange(inner_lines_, nullptr);
  const std::size_t outer_at = std::exchange(at_, 0);
  const int outer_line = std::exchange(line_, file.first_line);
  const int outer_conditions = conditions_;
  std::vector<int> outer_blocks = std::exchange(blocks_, {});
  const std::size_t outer_loops = loops_.size();
  open_files_.push_back(file.path);
  while (!done()) read_command();
  open_files_.pop_back();
  text_ = outer_text;
  inner_lines_ = outer_lines;
  at_ = outer_at;
  line_ = outer_line;
  conditions_ = outer_conditions;
  while (loops_.size() > outer_loops) end_loop();
  blocks_ = std::move(outer_blocks);
}

bool ShellReader::read_sourced(const std::vector<ShellWord>& words) {
  if (words.size() < 2 || (words[0].text != "source" && words[0].text != ".")) return false;
  std::string why_not;
  const std::optional<Beside> file = find_beside(words[1], why_not);
  if (!file) {
    script_.not_followed.push_back(fmt::format("{} ({}) is sourced, and was not read{}{}",
                                               words[1].text, script_.lines.words(words[0].line),
                                               why_not.empty() ? "" : ": ", why_not));
    return false;
  }
  note_read(*file, words[0].line);
  read_beside(*file);
  return true;
}

void ShellReader::set_arguments(const std::vector<ShellWord>& words, std::size_t from) {
  ShellVariable all{{}, true};
  for (const char* name : {"1", "2", "3", "4", "5", "6", "7", "8", "9"}) variables_.erase(name);
  for (std::size_t i = from; i < words.size(); ++i) {
    const ShellText text = text_of(words[i]);
    if (i - from < 9) variables_[fmt::format("{}", i - from + 1)] = {{text}, false};
    all.elements.push_back(text);
  }
  variables_["@"] = all;
  variables_["*"] = std::move(all);
}

void ShellReader::set_own_name(const ShellWord& word) {
  variables_["0"] = {{text_of(word)}, false};
}

bool ShellReader::read_started(const std::vector<ShellWord>& words) {
  std::size_t script = words.size();
  for (std::size_t i = 0; i < words.size() && script == words.size(); ++i) {
    if (is_shell(words[i].text)) {
      std::size_t behind = i + 1;
      while (behind < words.size() && words[behind].text.starts_with('-') &&
             !words[behind].text.ends_with('c')) {
        ++behind;
      }
      script = std::min(behind, words.size());
      if (script == words.size()) return false;
    } else if (words[i].text.ends_with(".sh") && (i == 0 || words[0].text == "srun")) {
      script = i;
    }
  }
  // torchtitan's own starter is told flags, and is known.
  if (script == words.size() || words[script].text.ends_with("run_train.sh")) return false;
  if (!words[script].text.ends_with(".sh")) return false;
  std::string why_not;
  const std::optional<Beside> file = find_beside(words[script], why_not);
  if (!file) return false;
  note_read(*file, words[0].line);
  const std::map<std::string, ShellVariable> outer = variables_;
  set_arguments(words, script + 1);
  read_beside(*file);
  variables_ = outer;
  return true;
}

std::optional<ShellReader::Expansion> ShellReader::read_cat_heredoc(std::string_view inside,
                                                                    int line) {
  const std::size_t begin = inside.find("<<"), row_end = inside.find('\n');
  if (begin == std::string_view::npos || row_end == std::string_view::npos || row_end < begin) {
    return {};
  }
  std::string_view end = inside.substr(begin + 2, row_end - begin - 2);
  const bool is_quoted = end.find_first_of("'\"\\") != std::string_view::npos;
  while (!end.empty() && std::string_view("- \t\r'\"\\").find(end.front()) != end.npos) {
    end.remove_prefix(1);
  }
  while (!end.empty() && std::string_view(" \t\r'\"").find(end.back()) != end.npos) {
    end.remove_suffix(1);
  }
  const std::size_t stop = inside.rfind(end);
  if (end.empty() || stop == std::string_view::npos || stop <= row_end) return {};
  return read_heredoc_text(inside.substr(row_end + 1, stop - row_end - 1), is_quoted, line);
}

// The shell puts in what variables hold, and leaves \$A to an inner one as $A; behind <<'EOF' the
// text stays as it is.
ShellReader::Expansion ShellReader::read_heredoc_text(std::string_view body, bool is_quoted,
                                                      int line) {
  if (depth_ >= kDeepestShell) return unknown_expansion("$(...)", line);
  count(body.size() + 1);
  const std::vector<int> lines(body.size(), line);
  const std::string_view outer_text = std::exchange(text_, body);
  const std::vector<int>* outer_lines = std::exchange(inner_lines_, &lines);
  const std::size_t outer_at = std::exchange(at_, 0);
  const int outer_line = line_;
  ++depth_;
  ShellText text;
  while (!done()) {
    const char c = peek();
    if (c == '\\' && peek(1) == '\n') {
      text.add(' ', line);
      at_ += 2;
    } else if (c == '\\' && (peek(1) == '$' || (!is_quoted && peek(1) == '`'))) {
      text.add(peek(1), line);
      at_ += 2;
    } else if (!is_quoted && (c == '$' || c == '`')) {
      const Expansion expansion = c == '$' ? read_dollar(0) : skip_backticks();
      for (const ShellText& element : expansion.elements) {
        count(element.size() + 1);
        if (&element != &expansion.elements.front()) text.add(' ', line);
        text.append(element);
      }
    } else {
      text.add(next(), line);
    }
  }
  --depth_;
  text_ = outer_text;
  inner_lines_ = outer_lines;
  at_ = outer_at;
  line_ = outer_line;
  Expansion expansion;
  expansion.elements.push_back(std::move(text));
  return expansion;
}

std::optional<ShellReader::Expansion> ShellReader::read_cat(std::string_view inside, int line) {
  while (!inside.empty() && is_blank_or_newline(inside.front())) inside.remove_prefix(1);
  while (!inside.empty() && is_blank_or_newline(inside.back())) inside.remove_suffix(1);
  if (inside.starts_with("cat <<")) {
    return read_cat_heredoc(inside, line);
  }
  if (inside.starts_with("cat ")) {
    inside.remove_prefix(4);
  } else if (inside.starts_with('<')) {
    inside.remove_prefix(1);
  } else {
    return {};
  }
  const std::vector<int> here{line};
  const std::string_view outer_text = std::exchange(text_, inside);
  const std::vector<int>* outer_lines = std::exchange(inner_lines_, &here);
  const std::size_t outer_at = std::exchange(at_, 0);
  const int outer_line = line_;
  skip_blanks();
  const Fields words = read_word(1);
  const bool is_one = done() && words.size() == 1;
  text_ = outer_text;
  inner_lines_ = outer_lines;
  at_ = outer_at;
  line_ = outer_line;
  if (!is_one) return {};
  std::string why_not;
  const std::optional<Beside> file = find_beside(words.front().word(line), why_not);
  if (!file) return {};
  note_read(*file, line);
  Expansion expansion;
  ShellText& text = expansion.elements.emplace_back();
  int at_line = file->first_line;
  for (std::size_t i = 0; i <= file->text.find_last_not_of(" \t\r\n") && i < file->text.size();
       ++i) {
    text.add(file->text[i], at_line);
    if (file->text[i] == '\n') ++at_line;
  }
  return expansion;
}

void ShellReader::read_directive(std::string_view comment) {
  constexpr std::string_view kMark = "#SBATCH";
  if (!comment.starts_with(kMark) || !open_files_.empty()) return;
  comment.remove_prefix(kMark.size());
  std::vector<std::string> words;
  std::string word;
  for (const char c : comment) {
    if (c == '#') break;
    if (is_shell_blank(c) || c == '=') {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].starts_with('-')) take_directive(words[i], words[i + 1]);
  }
  // -N4
  if (words.size() == 1 && words[0].size() > 2 && words[0][1] != '-') {
    take_directive(words[0].substr(0, 2), words[0].substr(2));
  }
}

void ShellReader::take_directive(const std::string& name, std::string value) {
  // gpu:8, gpu:h100:8, h100:8
  const bool is_gres = name == "--gres";
  if (is_gres && !value.starts_with("gpu:")) return;
  if (is_gres || name == "--gpus-per-node") value = value.substr(value.find_last_of(':') + 1);
  const bool is_number = !value.empty() && value.size() < 7 &&
                         value.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return;
  const auto put_in = [&](const char* variable) {
    ShellText text;
    text.add(value, line_now());
    variables_[variable] = {{std::move(text)}, false};
  };
  if (name == "--nodes" || name == "-N") {
    put_in("SLURM_NNODES");
    put_in("SLURM_JOB_NUM_NODES");
  } else if (is_gres || name == "--gpus-per-node") {
    put_in("SLURM_GPUS_PER_NODE");
    put_in("SLURM_GPUS_ON_NODE");
  } else if (name == "--ntasks-per-node") {
    put_in("SLURM_NTASKS_PER_NODE");
  } else if (name == "--ntasks" || name == "-n") {
    put_in("SLURM_NTASKS");
  }
}

}  // namespace penstock
