#include "session/kernel_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tunebook {
namespace {

using Kind = CudaToken::Kind;
using Tokens = std::vector<CudaToken>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool opens(const CudaToken& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool closes(const CudaToken& token) { return token.is(")") || token.is("]") || token.is("}"); }

// The token behind the bracket that closes the one at `open`, or the end.
std::size_t after_group(const Tokens& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (opens(tokens[i])) ++depth;
    if (closes(tokens[i]) && --depth == 0) return i + 1;
  }
  return tokens.size();
}

// The bracket that `close` closes, or kNone.
std::size_t group_before(const Tokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (closes(tokens[i])) ++depth;
    if (opens(tokens[i]) && --depth == 0) return i;
  }
  return kNone;
}

// The `<` behind `template` that the `>` at `close` belongs to, or kNone. Within brackets, < and > are comparisons.
std::size_t template_list(const Tokens& tokens, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (closes(tokens[i])) {
      i = group_before(tokens, i);
      if (i == kNone) return kNone;
      continue;
    }
    if (tokens[i].is(">")) ++depth;
    if (tokens[i].is("<") && --depth == 0) return i > 0 && tokens[i - 1].is("template") ? i : kNone;
    if (tokens[i].is(";") || tokens[i].is("{")) return kNone;
  }
  return kNone;
}

std::string joined(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    const bool words = !text.empty() && tokens[i].kind != Kind::punctuation && tokens[i - 1].kind != Kind::punctuation;
    if (words) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

// "typename T", "int BLOCK", "bool PAD = false": the last word before a default, if a word for the type stands before it.
std::string parameter_name(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::size_t stop = begin;
  while (stop < end && !tokens[stop].is("=")) ++stop;
  if (stop - begin < 2 || tokens[stop - 1].kind != Kind::identifier) return "";
  const std::string_view last = tokens[stop - 1].text;
  for (const std::string_view type : {"int", "unsigned", "long", "short", "char", "bool", "typename", "class", "auto"}) {
    if (last == type) return "";
  }
  // "std::size_t" alone names a type.
  return tokens[stop - 2].is(":") ? "" : std::string(last);
}

// The commas of a template parameter list that separate its parameters split it.
std::vector<std::string> parameter_names(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::vector<std::string> names;
  int depth = 0, brackets = 0;  // within brackets, < and > are comparisons
  std::size_t start = begin;
  for (std::size_t i = begin; i <= end; ++i) {
    if (i < end) {
      if (opens(tokens[i])) ++brackets;
      if (closes(tokens[i])) --brackets;
      if (brackets == 0 && tokens[i].is("<")) ++depth;
      if (brackets == 0 && tokens[i].is(">")) --depth;
      if (depth != 0 || brackets != 0 || !tokens[i].is(",")) continue;
    }
    if (i > start) names.push_back(parameter_name(tokens, start, i));
    start = i + 1;
  }
  return names;
}

void mark_directive(std::string_view directive, const auto& mark) {
  for (const CudaToken& token : split_cuda_tokens(directive.substr(1))) {
    if (token.kind == Kind::identifier) mark(token.text);
  }
}

}  // namespace

KernelSource::KernelSource(const SourceText& source) : source_(source) {
  const auto add = [&](const std::string& name, const std::string& text) {
    File file{name, {}};
    for (const CudaToken& token : split_cuda_tokens(text)) {
      if (token.kind != Kind::space && token.kind != Kind::comment) file.tokens.push_back(token);
    }
    files_.push_back(std::move(file));
  };
  add(source_.file, source_.text);
  for (const auto& [name, text] : source_.headers) add(name, text);
  for (const File& file : files_) collect_constants(file);
}

bool KernelSource::mentions(std::string_view name) const {
  bool found = false;
  for (const File& file : files_) {
    for (const CudaToken& token : file.tokens) {
      if (token.kind == Kind::identifier) found = found || token.text == name;
      if (token.kind == Kind::directive) mark_directive(token.text, [&](std::string_view word) { found = found || word == name; });
    }
  }
  return found;
}

std::optional<EntrySource> KernelSource::find_entry(std::string_view entry) const {
  for (const File& file : files_) {
    for (std::size_t i = 0; i < file.tokens.size(); ++i) {
      if (!file.tokens[i].is("__global__")) continue;
      if (std::optional<EntrySource> found = entry_in(file, i, entry)) return found;
    }
  }
  return std::nullopt;
}

// The `__global__` at `global` may declare the entry: [template <...>] [words] __global__ [words and attributes] entry (...) { ... }.
std::optional<EntrySource> KernelSource::entry_in(const File& file, std::size_t global, std::string_view entry) const {
  const Tokens& tokens = file.tokens;
  EntrySource found;
  found.file = file.name;
  std::size_t name = global + 1;
  const auto note_bounds = [&](std::size_t word) {
    if (!tokens[word].is("__launch_bounds__") || word + 1 >= tokens.size() || !tokens[word + 1].is("(")) return;
    const std::size_t end = after_group(tokens, word + 1) - 1;
    std::size_t comma = word + 2;
    for (; comma < end && !tokens[comma].is(","); comma = opens(tokens[comma]) ? after_group(tokens, comma) : comma + 1) {}
    found.launch_bounds = joined(tokens, word + 2, std::min(comma, end));
    found.launch_bounds_line = tokens[word].line;
  };
  for (;;) {
    if (name + 1 >= tokens.size()) return std::nullopt;
    if (tokens[name].is(entry) && tokens[name + 1].is("(")) break;
    if (tokens[name].kind == Kind::identifier) {
      note_bounds(name++);
    } else if (tokens[name].is("(") || tokens[name].is("[")) {
      name = after_group(tokens, name);
    } else {
      return std::nullopt;
    }
  }
  found.line = tokens[name].line;

  std::size_t before = global;
  while (before > 0) {
    const CudaToken& token = tokens[before - 1];
    const bool word = token.kind == Kind::text || token.is("extern") || token.is("static") || token.is("inline") || token.is("void");
    if (word) {
      --before;
    } else if (token.is(")") && group_before(tokens, before - 1) != kNone && group_before(tokens, before - 1) > 0) {
      before = group_before(tokens, before - 1) - 1;  // an attribute with arguments
      note_bounds(before);
    } else {
      break;
    }
  }
  const std::size_t list = before > 0 && tokens[before - 1].is(">") ? template_list(tokens, before - 1) : kNone;
  if (list == kNone) return found;
  found.template_line = tokens[list].line;
  for (const std::string& parameter : parameter_names(tokens, list + 1, before - 1)) found.parameters.push_back({parameter, false});

  const auto mark = [&](std::string_view word) {
    for (EntrySource::TemplateParameter& parameter : found.parameters) parameter.used = parameter.used || parameter.name == word;
  };
  std::size_t end = after_group(tokens, name + 1);
  while (end < tokens.size() && !tokens[end].is("{") && !tokens[end].is(";")) ++end;
  if (end < tokens.size() && tokens[end].is("{")) end = after_group(tokens, end);
  for (std::size_t i = before; i < end;) {
    if (tokens[i].is("static_assert") && i + 1 < end && tokens[i + 1].is("(")) {
      i = after_group(tokens, i + 1);
      continue;
    }
    if (tokens[i].kind == Kind::identifier) mark(tokens[i].text);
    if (tokens[i].kind == Kind::directive) mark_directive(tokens[i].text, mark);
    ++i;
  }
  return found;
}

std::optional<std::string> KernelSource::constant(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? std::nullopt : found->second;
}

void KernelSource::add_constant(std::string name, std::string text) {
  const auto [place, added] = constants_.emplace(std::move(name), text);
  if (!added && place->second != text) place->second.reset();
}

void KernelSource::collect_constants(const File& file) {
  const Tokens& tokens = file.tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::directive) {
      Tokens words;
      for (const CudaToken& token : split_cuda_tokens(tokens[i].text.substr(1))) {
        if (token.kind != Kind::comment) words.push_back(token);
      }
      std::erase_if(words, [first = true](const CudaToken& token) mutable { return std::exchange(first, false) && token.kind == Kind::space; });
      // define NAME(x) has its bracket right behind the name.
      if (words.size() < 5 || !words[0].is("define") || words[2].kind != Kind::identifier || words[3].kind != Kind::space) continue;
      std::erase_if(words, [](const CudaToken& token) { return token.kind == Kind::space; });
      add_constant(std::string(words[1].text), joined(words, 2, words.size()));
      continue;
    }
    if (!tokens[i].is("constexpr")) continue;
    // constexpr TYPE NAME = VALUE;
    std::size_t equals = i + 1;
    while (equals < tokens.size() && (tokens[equals].kind == Kind::identifier || tokens[equals].is(":"))) ++equals;
    if (equals >= tokens.size() || !tokens[equals].is("=") || equals < i + 3) continue;
    std::size_t end = equals + 1;
    while (end < tokens.size() && !tokens[end].is(";")) end = opens(tokens[end]) ? after_group(tokens, end) : end + 1;
    add_constant(std::string(tokens[equals - 1].text), joined(tokens, equals + 1, std::min(end, tokens.size())));
    i = equals;
  }
}

}  // namespace tunebook
