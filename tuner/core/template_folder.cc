#include "core/template_folder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"

namespace tunebook {
namespace {

// Some editors begin a file with a byte order mark, which compilers take at its very start only.
std::string without_mark(std::string text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

namespace fs = std::filesystem;

constexpr std::size_t kMaxSourceBytes = std::size_t{8} << 20;
// Headers of a kernel, nested ones included. More is an include of something that was not meant.
constexpr std::size_t kMaxHeaders = 200;

// The name in `#include "name"`, or "" if the line is none.
std::string_view quoted_include(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (!line.starts_with('"')) return {};
  line.remove_prefix(1);
  const std::size_t end = line.find('"');
  return end == std::string_view::npos ? std::string_view{} : line.substr(0, end);
}

// The names included by quotes, in order. Text in comments is skipped; conditions are not evaluated: a header that is
// not needed does no harm, and one that is not found is left to the compiler.
std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  bool in_comment = false;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (in_comment) {
      const std::size_t end = line.find("*/");
      if (end == std::string_view::npos) continue;
      line.remove_prefix(end + 2);
      in_comment = false;
    }
    if (const std::string_view name = quoted_include(line); !name.empty()) names.emplace_back(name);
    for (std::size_t at = 0; at + 1 < line.size(); ++at) {
      if (line.substr(at, 2) == "//") break;
      if (line.substr(at, 2) != "/*") continue;
      const std::size_t end = line.find("*/", at + 2);
      in_comment = end == std::string_view::npos;
      if (in_comment) break;
      at = end + 1;
    }
  }
  return names;
}

// Reads a source and everything it includes by quotes.
class SourceLoader {
 public:
  explicit SourceLoader(const fs::path& folder) : folder_(folder), common_(folder / ".." / "common") {}

  SourceText load(const std::string& file) {
    SourceText source;
    source.file = file;
    source.text = without_mark(read_text_file(folder_ / file, kMaxSourceBytes));
    include_from(source.text, (folder_ / file).parent_path(), source);
    return source;
  }

 private:
  void include_from(const std::string& text, const fs::path& beside, SourceText& source) {
    for (const std::string& name : quoted_includes(text)) {
      const fs::path found = find(name, beside);
      if (found.empty()) continue;
      const auto known = std::find_if(source.headers.begin(), source.headers.end(), [&](const auto& header) { return header.first == name; });
      std::error_code error;
      const fs::path real = fs::canonical(found, error);
      if (known != source.headers.end()) {
        // NVRTC knows headers by the name they are included by: one name cannot mean two files.
        if (path_of_.at(name) != real) throw InputError(fmt::format("{}: \"{}\" is included both from {} and from {}; give one of them another name", (folder_ / source.file).string(), name, path_of_.at(name).string(), real.string()));
        continue;
      }
      if (source.headers.size() >= kMaxHeaders) throw InputError(fmt::format("{}: includes more than {} headers by quotes", (folder_ / source.file).string(), kMaxHeaders));
      path_of_[name] = real;
      source.headers.emplace_back(name, without_mark(read_text_file(found, kMaxSourceBytes)));
      const std::string header = source.headers.back().second;  // a copy: the vector grows below
      include_from(header, found.parent_path(), source);
    }
  }

  fs::path find(const std::string& name, const fs::path& beside) const {
    for (const fs::path& place : {beside, common_}) {
      std::error_code error;
      if (fs::is_regular_file(place / name, error)) return place / name;
    }
    return {};
  }

  fs::path folder_;
  fs::path common_;
  std::map<std::string, fs::path> path_of_;
};

void add_source(HashBuilder& hash, const SourceText& source) {
  hash.add(source.file).add(source.text).add(std::to_string(source.headers.size()));
  for (const auto& [name, text] : source.headers) hash.add(name).add(text);
}

KernelSpec load_spec(const fs::path& folder) {
  const fs::path file = folder / "kernel.json";
  return KernelSpec::parse(parse_json_text(read_text_file(file), file.string()), file.string());
}

// The name a broken template would have: its "kernel" if that much can be read, else its folder's.
std::string name_of_broken(const fs::path& folder) {
  try {
    const auto json = parse_json_text(read_text_file(folder / "kernel.json"), "kernel.json");
    if (json.is_object() && json.contains("kernel") && json["kernel"].is_string() && !json["kernel"].get_ref<const std::string&>().empty()) {
      return json["kernel"].get<std::string>();
    }
  } catch (const InputError&) {
    // Said by the error that made it a broken one.
  }
  return folder.filename().string();
}

bool is_template_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "kernel.json", error);
}

// The template folders in one place of the search path, sorted, so that the result does not depend on the file system.
std::vector<fs::path> template_folders(const fs::path& place) {
  if (is_template_folder(place)) return {place};
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
    if (is_template_folder(entry->path())) folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TemplateEntry inspect(const fs::path& folder) {
  TemplateEntry entry;
  entry.folder = folder;
  try {
    entry.name = load_spec(folder).name;
  } catch (const InputError& error) {
    entry.name = name_of_broken(folder);
    entry.error = error.what();
  }
  return entry;
}

// Templates that came with the program: as installed (PREFIX/bin, PREFIX/share/tunebook/templates), else as built (the
// build folder has "templates" beside "bin").
std::vector<fs::path> installed_default() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path bin = program.parent_path();
  for (const fs::path& place : {bin / ".." / "share" / "tunebook" / "templates", bin / ".." / "templates"}) {
    if (fs::is_directory(place, error)) return {place.lexically_normal()};
  }
  return {};
}

}  // namespace

KernelTemplate load_template(const fs::path& folder) {
  KernelTemplate loaded;
  loaded.folder = folder;
  loaded.spec = load_spec(folder);
  loaded.kernel = SourceLoader(folder).load(loaded.spec.source);
  loaded.reference = SourceLoader(folder).load(loaded.spec.reference.source);
  HashBuilder hash;
  hash.add(loaded.spec.to_json().dump());
  add_source(hash, loaded.kernel);
  add_source(hash, loaded.reference);
  loaded.hash = hash.hex();
  return loaded;
}

std::vector<fs::path> template_search_path(const std::vector<std::string>& from_options) {
  std::vector<fs::path> path;
  for (const std::string& place : from_options) {
    std::error_code error;
    if (!fs::is_directory(place, error)) throw InputError(fmt::format("--templates {}: no such folder", place));
    path.emplace_back(place);
  }
  if (const char* variable = std::getenv("TUNEBOOK_TEMPLATES")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) path.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  for (fs::path& place : installed_default()) path.push_back(std::move(place));
  return path;
}

std::vector<TemplateEntry> find_templates(const std::vector<fs::path>& search_path) {
  std::map<std::string, TemplateEntry> found;
  for (const fs::path& place : search_path) {
    std::map<std::string, TemplateEntry> here;
    for (const fs::path& folder : template_folders(place)) {
      TemplateEntry entry = inspect(folder);
      const auto [at, is_new] = here.try_emplace(entry.name, entry);
      // Of two in one place that works which does.
      if (!is_new && !at->second.error.empty() && entry.error.empty()) at->second = std::move(entry);
    }
    // A broken one hides those of later places: whoever made it means it, and must not get another one's results.
    found.merge(here);
  }
  std::vector<TemplateEntry> entries;
  for (auto& [name, entry] : found) entries.push_back(std::move(entry));
  return entries;
}

KernelTemplate find_template(const std::string& kernel, const std::vector<fs::path>& search_path) {
  const std::vector<TemplateEntry> entries = find_templates(search_path);
  std::vector<std::string> names;
  for (const TemplateEntry& entry : entries) {
    if (entry.name == kernel) {
      if (!entry.error.empty()) throw InputError(entry.error);
      return load_template(entry.folder);
    }
    names.push_back(entry.name);
  }
  std::vector<std::string> places;
  for (const fs::path& place : search_path) places.push_back(place.string());
  const std::string near = nearest_word(kernel, names);
  throw InputError(fmt::format("unknown kernel \"{}\"{}; known: {}; looked in: {}", kernel, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                               names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                               places.empty() ? "nowhere (give --templates DIR)" : fmt::format("{}", fmt::join(places, ", "))));
}

std::vector<fs::path> shipped_books(const fs::path& folder) {
  std::vector<fs::path> books;
  std::error_code ignored;  // most templates have no such folder
  for (fs::directory_iterator entry(folder / "shipped", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (entry->path().extension() == ".db") books.push_back(entry->path());
  }
  std::sort(books.begin(), books.end());
  return books;
}

std::vector<std::string> shipped_books(const std::vector<fs::path>& search_path) {
  std::vector<std::string> books;
  for (const TemplateEntry& entry : find_templates(search_path)) {
    for (const fs::path& book : shipped_books(entry.folder)) books.push_back(book.string());
  }
  return books;
}

}  // namespace tunebook
