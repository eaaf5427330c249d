#include "reports/html_page.h"

#include <cstdint>

#include <fmt/format.h>

#include "reports/html_text.h"
#include "reports/page_text.h"

namespace tunebook::reports::page {
namespace {

// The base64 form of a hash given in hexadecimal digits, as a Content-Security-Policy names it.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : hex) {
    bits = bits << 4 | static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    count += 4;
    if (count >= 6) {
      count -= 6;
      result += kDigits[bits >> count & 0x3F];
    }
  }
  if (count > 0) result += kDigits[bits << (6 - count) & 0x3F];
  while (result.size() % 4 != 0) result += '=';
  return result;
}

}  // namespace

std::string_view page_style() { return kPageStyle; }
std::string_view page_script() { return kPageScript; }

Page::Page(std::string_view title, std::string_view subtitle) : title_(title), subtitle_(subtitle) {}

void Page::section(std::string_view id, std::string_view heading) {
  if (!sections_.empty()) body_ += "</section>\n";
  body_ += fmt::format("<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{1}</h2>\n", id, escape(heading));
  sections_.emplace_back(id, heading);
}

std::string Page::finish(std::string_view footer) && {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>",
      base64_of_hex(kPageStyleSha256), base64_of_hex(kPageScriptSha256), escape(title_));
  html.reserve(html.size() + body_.size() + kPageStyle.size() + kPageScript.size() + 4096);
  html += kPageStyle;
  html += fmt::format("</style></head>\n<body><a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header><h1>{}</h1>\n", isolated(title_));
  if (!subtitle_.empty()) html += fmt::format("<p class=\"muted\">{}</p>\n", subtitle_);
  if (sections_.size() > 1) {
    html += "<nav aria-label=\"Sections\"><ul>";
    for (const auto& [id, heading] : sections_) html += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, escape(heading));
    html += "</ul></nav>\n";
  }
  html += "</header>\n<main id=\"content\">\n";
  html += body_;
  if (!sections_.empty()) html += "</section>\n";
  html += fmt::format("</main>\n<footer><p class=\"muted note\">{}</p></footer>\n<script>", footer);
  html += kPageScript;
  return html + "</script></body></html>\n";
}

std::string card(int level, std::string_view heading, std::string_view html, bool wide) {
  return fmt::format("<div class=\"card{0}\"><h{1}>{2}</h{1}>{3}</div>\n", wide ? " wide" : "", level, escape(heading), html);
}

std::string figure_card(std::string_view heading, std::string_view caption, std::string_view picture, std::string_view table) {
  return fmt::format("<figure class=\"card\"><figcaption><h4>{}</h4>{}</figcaption>{}<details class=\"data\"><summary>The same as a table"
                     "</summary>{}</details></figure>\n",
                     escape(heading), caption, picture, table);
}

}  // namespace tunebook::reports::page
