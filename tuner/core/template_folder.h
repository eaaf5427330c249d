#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/spec.h"

namespace tunebook {

// A source file with the headers it includes by quotes, read once at the start of a session: editing the folder meanwhile
// changes nothing.
struct SourceText {
  std::string file;                                            // "kernel.cu", for messages
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;    // name as included -> text; nested ones too
};

// A template folder, loaded: DIR/kernel.json with its sources.
struct KernelTemplate {
  std::filesystem::path folder;
  KernelSpec spec;
  SourceText kernel;
  SourceText reference;
  std::string hash;  // content hash of spec, sources and headers
};

// Quoted includes are looked for beside the including file and then in DIR/../common; others are left to the compiler.
// Throws InputError (missing files, bad kernel.json).
KernelTemplate load_template(const std::filesystem::path& folder);

// Where kernels are looked for, in order: `--templates` folders, $TUNEBOOK_TEMPLATES (colon-separated), the installed default
// (found relative to the running program). Each is a folder of template folders, or itself a template folder.
std::vector<std::filesystem::path> template_search_path(const std::vector<std::string>& from_options);

struct TemplateEntry {
  std::string name;
  std::filesystem::path folder;
  std::string error;  // not empty: kernel.json could not be read; the reason
};
// All kernels on the path, first found wins, sorted by name. A broken one does not hide the others.
std::vector<TemplateEntry> find_templates(const std::vector<std::filesystem::path>& search_path);

// Throws InputError for an unknown kernel, naming the nearest and where was looked.
KernelTemplate find_template(const std::string& kernel, const std::vector<std::filesystem::path>& search_path);

// Published books that come with a template: DIR/shipped/*.db, in the order of their names. They are data; their kernel hash tells
// whether they fit the template as it is now.
std::vector<std::filesystem::path> shipped_books(const std::filesystem::path& folder);
// The same of all templates on the path, of each kernel's first found folder.
std::vector<std::string> shipped_books(const std::vector<std::filesystem::path>& search_path);

}  // namespace tunebook
