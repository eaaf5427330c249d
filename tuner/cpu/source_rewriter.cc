#include "cpu/source_rewriter.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/cuda_tokens.h"

namespace tunebook {
namespace {

using Kind = CudaToken::Kind;

bool is_blank(const CudaToken& token) { return token.kind == Kind::space || token.kind == Kind::comment; }

// "#pragma unroll", "# pragma unroll 4", "#pragma nounroll".
bool is_unroll_directive(std::string_view directive) {
  std::vector<std::string_view> words;
  for (const CudaToken& token : split_cuda_tokens(directive.substr(1))) {
    if (token.kind == Kind::identifier) words.push_back(token.text);
  }
  return words.size() >= 2 && words[0] == "pragma" && (words[1] == "unroll" || words[1] == "nounroll");
}

struct Declarator {
  std::string name;
  std::size_t name_token = 0;
};

class Rewriter {
 public:
  Rewriter(std::string_view source, const std::string& file, int file_number)
      : tokens_(split_cuda_tokens(source)), file_(file), file_number_(file_number) {}

  RewrittenSource rewrite() {
    for (std::size_t i = 0; i < tokens_.size();) i = step(i);
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // Handles the token at i and returns the next one to handle.
  std::size_t step(std::size_t i) {
    const CudaToken& token = tokens_[i];
    if (token.kind == Kind::directive) {
      if (is_unroll_directive(token.text)) {
        emit_newlines(i, i + 1);
      } else {
        emit(token.text);
      }
      return i + 1;
    }
    if (token.kind == Kind::punctuation) {
      track_braces(i);
      emit(token.text);
      return i + 1;
    }
    if (token.kind == Kind::identifier) {
      if (token.is("__shared__") || starts_shared_statement(i)) {
        if (const std::optional<std::size_t> next = shared_statement(i)) return *next;
      }
      if (token.is("asm") || token.is("__asm__") || token.is("__asm")) {
        if (const std::optional<std::size_t> next = assembly(i)) return *next;
      }
      if (token.is("_Pragma")) {
        if (const std::optional<std::size_t> next = pragma_operator(i)) return *next;
      }
      if (token.is("while")) {
        if (const std::optional<std::size_t> next = waiting_loop(i)) return *next;
      }
      if (const auto found = namespace_names_.find(token.text); found != namespace_names_.end() && !is_member(i)) {
        emit(found->second);
        return i + 1;
      }
    }
    emit(token.text);
    return i + 1;
  }

  void emit(std::string_view text) { result_.text += text; }

  // The newlines within tokens [begin, end), so that what follows keeps its line.
  void emit_newlines(std::size_t begin, std::size_t end) { emit(lines_between(begin, end)); }

  std::size_t next_solid(std::size_t i) const {
    for (; i < tokens_.size(); ++i) {
      if (!is_blank(tokens_[i])) return i;
    }
    return kNone;
  }
  std::size_t previous_solid(std::size_t i) const {
    while (i-- > 0) {
      if (!is_blank(tokens_[i])) return i;
    }
    return kNone;
  }
  bool token_is(std::size_t i, std::string_view text) const { return i != kNone && i < tokens_.size() && tokens_[i].is(text); }

  // After ".", "->" or "::" a name is not the namespace-scope one.
  bool is_member(std::size_t i) const {
    const std::size_t previous = previous_solid(i);
    if (token_is(previous, ".")) return true;
    if (token_is(previous, ">") && previous > 0) return tokens_[previous - 1].is("-");
    return false;
  }

  // The token after the bracket that closes the one at `open`, or kNone.
  std::size_t after_group(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == Kind::directive) return kNone;
      if (tokens_[i].kind != Kind::punctuation) continue;
      const char c = tokens_[i].text[0];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth == 0) return i + 1;
    }
    return kNone;
  }

  // Whether braces open a namespace or linkage block (whose content is still namespace scope) and whether a `do` body.
  void track_braces(std::size_t i) {
    if (tokens_[i].is("{")) {
      bool outer = false;
      std::size_t back = previous_solid(i);
      const bool loop = token_is(back, "do");
      // "namespace a::b {", "namespace {", "extern "C" {".
      while (back != kNone && (tokens_[back].kind == Kind::identifier || tokens_[back].is(":") || tokens_[back].kind == Kind::text)) {
        if (tokens_[back].is("namespace") || tokens_[back].is("extern")) outer = true;
        back = previous_solid(back);
      }
      braces_.push_back({!outer, loop});
    } else if (tokens_[i].is("}")) {
      closed_do_ = !braces_.empty() && braces_.back().is_do;
      if (!braces_.empty()) braces_.pop_back();
    }
  }
  bool at_namespace_scope() const {
    return std::none_of(braces_.begin(), braces_.end(), [](const Brace& brace) { return brace.is_inner; });
  }

  static bool is_qualifier(const CudaToken& token) {
    return token.is("extern") || token.is("static") || token.is("volatile") || token.is("const") || token.is("__shared__") ||
           token.is("__align__") || token.is("alignas") || token.is("__attribute__") || token.is("__device__");
  }

  // A qualifier or alignment at i that a run of such leads from to __shared__.
  bool starts_shared_statement(std::size_t i) const {
    while (i != kNone && i < tokens_.size() && is_qualifier(tokens_[i])) {
      if (tokens_[i].is("__shared__")) return true;
      const std::size_t next = next_solid(i + 1);
      if (token_is(next, "(")) {
        const std::size_t end = after_group(next);
        if (end == kNone) return false;
        i = next_solid(end);
      } else {
        i = next;
      }
    }
    return false;
  }

  // The text of tokens [begin, end) without comments, newlines as they are.
  std::string text_of(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].kind == Kind::comment) {
        text += ' ';
        text.append(static_cast<std::size_t>(std::count(tokens_[i].text.begin(), tokens_[i].text.end(), '\n')), '\n');
      } else {
        text += tokens_[i].text;
      }
    }
    return text;
  }

  // From the first qualifier of a __shared__ declaration; nothing if it is not a plain declaration.
  std::optional<std::size_t> shared_statement(std::size_t begin) {
    std::size_t end = begin;  // the semicolon
    while (end < tokens_.size() && !tokens_[end].is(";")) {
      if (tokens_[end].kind == Kind::directive || tokens_[end].is("}")) return std::nullopt;
      if (tokens_[end].is("(") || tokens_[end].is("[") || tokens_[end].is("{")) {
        end = after_group(end);
        if (end == kNone) return std::nullopt;
      } else {
        ++end;
      }
    }
    if (end >= tokens_.size()) return std::nullopt;

    bool is_extern = false;
    std::string declaration;  // without extern, static, __shared__ and the alignment attributes of extern arrays
    std::size_t i = begin;
    for (; i < end && (is_blank(tokens_[i]) || is_qualifier(tokens_[i])); ++i) {
      const CudaToken& token = tokens_[i];
      if (is_blank(token)) {
        declaration += text_of(i, i + 1);
      } else if (token.is("extern")) {
        is_extern = true;
      } else if (token.is("__align__") || token.is("alignas") || token.is("__attribute__")) {
        const std::size_t open = next_solid(i + 1);
        const std::size_t close = token_is(open, "(") ? after_group(open) : kNone;
        if (close == kNone) return std::nullopt;
        declaration += is_extern_ahead(begin, end) ? lines_between(i, close) : text_of(i, close);
        i = close - 1;
      } else if (token.is("volatile") || token.is("const")) {
        declaration += token.text;
      }
    }
    return is_extern ? dynamic_shared(declaration, i, end) : static_shared(declaration, i, end);
  }

  bool is_extern_ahead(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].is("extern")) return true;
    }
    return false;
  }

  static std::string lines_of(std::string_view text) {
    return std::string(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), '\n');
  }
  std::string lines_between(std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) text += lines_of(tokens_[i].text);
    return text;
  }

  // `T NAME[]` with alignment attributes possibly within; tokens [begin, end), `;` at end.
  std::optional<std::size_t> dynamic_shared(const std::string& qualifiers, std::size_t begin, std::size_t end) {
    std::string type = qualifiers;
    std::size_t bracket = begin;
    std::size_t name = kNone;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].is("[")) {
        bracket = i;
        break;
      }
      if (tokens_[i].kind == Kind::identifier) name = i;
    }
    if (name == kNone || bracket == begin) return std::nullopt;
    for (std::size_t i = begin; i < name; ++i) {  // line ends in it are emitted at the end
      const CudaToken& token = tokens_[i];
      const bool attribute = token.is("__align__") || token.is("alignas") || token.is("__attribute__");
      const std::size_t open = attribute ? next_solid(i + 1) : kNone;
      if (token_is(open, "(") && after_group(open) != kNone) {
        i = after_group(open) - 1;
      } else if (!token.is("__shared__")) {
        type += text_of(i, i + 1);
      }
    }
    // `T NAME[][N]`: a pointer to rows.
    const std::size_t after_first = next_solid(after_group(bracket));
    const bool has_rows = token_is(after_first, "[");
    const std::string name_text(tokens_[name].text);
    const std::string newlines = lines_of(qualifiers) + lines_between(begin, end);
    std::string element = flat(type);
    if (has_rows) {
      const std::string row = fmt::format("tunebook_row_{}_{}", file_number_, serial_++);
      emit(fmt::format("typedef {} {}{}; ", element, row, flat(text_of(after_first, end))));
      element = row;
    }
    if (at_namespace_scope()) {
      const std::string getter = fmt::format("tunebook_dynamic_{}_{}", file_number_, serial_++);
      emit(fmt::format("static inline {}* {}() {{ return ::tunebook_cpu::dynamic_shared<{}>(); }}{}", element, getter, element,
                       newlines));
      namespace_names_[name_text] = getter + "()";
    } else {
      emit(fmt::format("{}* {} = ::tunebook_cpu::dynamic_shared<{}>();{}", element, name_text, element, newlines));
    }
    return end + 1;
  }

  // Words with one space between: newlines are emitted apart, once.
  static std::string flat(std::string_view text) {
    std::string result;
    for (const char c : text) {
      const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\\';
      if (!space) {
        result += c;
      } else if (!result.empty() && result.back() != ' ') {
        result += ' ';
      }
    }
    while (!result.empty() && result.back() == ' ') result.pop_back();
    return result;
  }

  // Names declared by `T A[..], B = x, C`: the last identifier before the first [ , = ; { of each declarator, outside <>.
  std::vector<Declarator> declarators(std::size_t begin, std::size_t end) const {
    std::vector<Declarator> found;
    Declarator current;
    bool has_name = false;
    bool closed = false;  // past the name: in brackets or an initialiser
    int angle = 0;
    std::size_t previous = kNone;
    for (std::size_t i = begin; i < end; ++i) {
      const CudaToken& token = tokens_[i];
      if (is_blank(token)) continue;
      if (token.is("(") || token.is("[") || token.is("{")) {
        if (token.is("[") || token.is("{")) closed = closed || has_name;
        i = after_group(i) - 1;
      } else if (!closed && token.is("<") && previous != kNone && tokens_[previous].kind == Kind::identifier) {
        ++angle;
      } else if (!closed && token.is(">") && angle > 0) {
        --angle;
      } else if (angle == 0 && token.is(",")) {
        if (has_name) found.push_back(current);
        has_name = closed = false;
      } else if (token.is("=")) {
        closed = true;
      } else if (angle == 0 && !closed && token.kind == Kind::identifier && !token.is("__shared__")) {
        current = {std::string(token.text), i};
        has_name = true;
      }
      previous = i;
    }
    if (has_name) found.push_back(current);
    return found;
  }

  std::optional<std::size_t> static_shared(const std::string& qualifiers, std::size_t begin, std::size_t end) {
    const std::vector<Declarator> names = declarators(begin, end);
    if (names.empty()) return std::nullopt;
    std::string members = qualifiers;
    for (std::size_t i = begin; i < end; ++i) {
      if (!tokens_[i].is("__shared__")) members += text_of(i, i + 1);
    }
    const std::string tag = fmt::format("tunebook_shared_{}_{}", file_number_, serial_++);
    emit(fmt::format("struct {} {{{};}};", tag, members));
    for (const Declarator& declarator : names) {
      if (at_namespace_scope()) {
        const std::string getter = fmt::format("{}_{}", tag, declarator.name);
        emit(fmt::format(" static inline decltype(({}::{}))& {}() {{ return ::tunebook_cpu::static_shared<{}>().{}; }}", tag,
                         declarator.name, getter, tag, declarator.name));
        namespace_names_[declarator.name] = getter + "()";
      } else {
        emit(fmt::format(" auto& {} = ::tunebook_cpu::static_shared<{}>().{};", declarator.name, tag, declarator.name));
      }
    }
    return end + 1;
  }

  std::optional<std::size_t> assembly(std::size_t i) {
    std::size_t open = next_solid(i + 1);
    while (open != kNone && tokens_[open].kind == Kind::identifier) open = next_solid(open + 1);  // volatile, goto
    if (!token_is(open, "(")) return std::nullopt;
    const std::size_t end = after_group(open);
    if (end == kNone || at_namespace_scope()) return std::nullopt;
    const std::string marker = fmt::format("tunebook_ptx_{}_{}_", file_number_, tokens_[i].line);
    result_.ptx_uses.push_back({marker, file_, tokens_[i].line});
    emit(fmt::format("do {{ extern void {}(); {}(); }} while (0)", marker, marker));
    emit_newlines(i, end);
    return end;
  }

  std::optional<std::size_t> pragma_operator(std::size_t i) {
    const std::size_t open = next_solid(i + 1);
    if (!token_is(open, "(")) return std::nullopt;
    const std::size_t text = next_solid(open + 1);
    const std::size_t end = after_group(open);
    if (text == kNone || end == kNone || tokens_[text].kind != Kind::text) return std::nullopt;
    if (tokens_[text].text.find("unroll") == std::string_view::npos) return std::nullopt;
    emit(" ");
    emit_newlines(i, end);
    return end;
  }

  // `while (condition) ;` and `while (condition) {}`, unless it ends a do loop.
  std::optional<std::size_t> waiting_loop(std::size_t i) {
    if (token_is(previous_solid(i), "}") && closed_do_) return std::nullopt;
    const std::size_t open = next_solid(i + 1);
    if (!token_is(open, "(")) return std::nullopt;
    const std::size_t after = after_group(open);
    if (after == kNone) return std::nullopt;
    const std::size_t body = next_solid(after);
    const bool empty = token_is(body, ";") || (token_is(body, "{") && token_is(next_solid(body + 1), "}"));
    if (!empty) return std::nullopt;
    emit_range(i, open + 1);
    emit("::tunebook_cpu_spin(), ");
    return open + 1;
  }

  void emit_range(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) emit(tokens_[i].text);
  }

  struct Brace {
    bool is_inner = false;  // not a namespace
    bool is_do = false;
  };

  std::vector<CudaToken> tokens_;
  std::string file_;
  int file_number_;
  int serial_ = 0;
  std::vector<Brace> braces_;
  bool closed_do_ = false;
  std::map<std::string, std::string, std::less<>> namespace_names_;  // name -> what stands for it
  RewrittenSource result_;
};

}  // namespace

RewrittenSource rewrite_cuda_source(std::string_view text, const std::string& file, int file_number) {
  return Rewriter(text, file, file_number).rewrite();
}

}  // namespace tunebook
