# Writes OUTPUT, a C++ header with the page's style and script as they are, and their SHA-256 for the page's Content-Security-Policy.
#   cmake -DSTYLE=page.css -DSCRIPT=page.js -DOUTPUT=page_text.h -P embed_page.cmake
foreach(part STYLE SCRIPT)
  file(READ "${${part}}" text_${part})
  file(SHA256 "${${part}}" sha_${part})
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [=[#pragma once

#include <string_view>

namespace tunebook::reports::page {

inline constexpr std::string_view kPageStyle = R"page(@text_STYLE@)page";
inline constexpr std::string_view kPageStyleSha256 = "@sha_STYLE@";
inline constexpr std::string_view kPageScript = R"page(@text_SCRIPT@)page";
inline constexpr std::string_view kPageScriptSha256 = "@sha_SCRIPT@";

}  // namespace tunebook::reports::page
]=])
