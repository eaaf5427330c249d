#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda_tokens.h"
#include "core/template_folder.h"

namespace tunebook {

// What can be told from the text of a kernel, without a compiler: where an entry is, what its template parameters are called, and which
// names occur where. Comments do not count.
struct EntrySource {
  struct TemplateParameter {
    std::string name;  // empty: it has none
    bool used = false; // its name occurs in the declaration or the body, outside of static_assert
  };
  std::string file;
  int line = 0;                                // of the entry's name
  std::vector<TemplateParameter> parameters;   // in order; empty for a plain function
  int template_line = 0;
  std::string launch_bounds;                   // the first argument of __launch_bounds__; empty without
  int launch_bounds_line = 0;
};

class KernelSource {
 public:
  explicit KernelSource(const SourceText& source);

  // Nothing if it is not declared in a way that can be followed (by a macro, say).
  std::optional<EntrySource> find_entry(std::string_view entry) const;
  // Whether the name occurs anywhere, in preprocessor directives too.
  bool mentions(std::string_view name) const;
  // The text that a constant stands for: `constexpr int kThreads = 256;` or `#define THREADS 256`. Nothing if there is none of that name, or
  // several.
  std::optional<std::string> constant(std::string_view name) const;

 private:
  struct File {
    std::string name;
    std::vector<CudaToken> tokens;  // without spaces and comments
  };
  std::optional<EntrySource> entry_in(const File& file, std::size_t global, std::string_view entry) const;
  void collect_constants(const File& file);
  void add_constant(std::string name, std::string text);

  SourceText source_;  // the tokens are views of it
  std::vector<File> files_;
  std::map<std::string, std::optional<std::string>, std::less<>> constants_;  // nothing: defined more than once
};

}  // namespace tunebook
