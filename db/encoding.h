#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/problem.h"
#include "db/sqlite.h"

namespace tunebook {

// A content hash as the book stores it.
using Hash = std::array<char, 16>;
Hash to_hash(std::string_view hex);  // of HashBuilder::hex() or content_hash()
inline sqlite::Blob as_blob(const Hash& hash) { return {std::string_view(hash.data(), hash.size())}; }

// Little-endian f64, one after the other.
std::string encode_doubles(std::span<const double> values);
std::vector<double> decode_doubles(std::string_view bytes);  // an incomplete last one is left out

// Text for the book. Bytes that are no UTF-8 (a compiler's message may have some) are replaced.
template <class Json>
std::string to_book_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The keys of `spec`'s object `member` in order of declaration; none if it is not there. The book stores canonical
// configurations and problems (keys sorted): this is the order in which they are shown.
std::vector<std::string> declared_order(const nlohmann::ordered_json& spec, const char* member);
std::vector<std::string> declared_order_of_text(const std::string& spec, const char* member);
// Stored canonical text as values in that order, unknown names last. Throws InputError naming `where`.
NamedValues read_values(const std::string& canonical, const std::vector<std::string>& order, std::string_view where);

// Now, as ISO 8601 with microseconds: text order is time order.
std::string now_utc();
// The same, but later than `last` even if the clock was set back: what is recorded later has the later time. `last` may be "".
std::string now_utc_after(const std::string& last);

}  // namespace tunebook
