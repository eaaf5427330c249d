#include "support/synthetic_book.h"

#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "core/spec.h"
#include "db/encoding.h"
#include "db/migrations.h"
#include "db/sqlite.h"

namespace tunebook::testing {
namespace {

constexpr int kConfigurations = 512;  // as many as configuration() can tell apart

const char* const kSpec = R"json({
  "tunebook": 1, "kernel": "NAME", "summary": "c = a * b", "source": "kernel.cu", "entry": "matmul",
  "instantiate": ["T", "BM", "BN", "BK", "TM", "TN", "STAGES", "VECTOR"],
  "problem": {
    "m": {"default": 64, "verify": [1, 33]}, "n": {"default": 64, "verify": [1, 65]}, "k": {"default": 64, "verify": [1, 17]},
    "dtype": {"values": ["f32", "f16"], "default": "f32"}},
  "parameters": {
    "BM": {"values": [16, 32, 64, 128]}, "BN": {"values": [16, 32, 64, 128]}, "BK": {"values": [8, 16]},
    "TM": {"values": [1, 2, 4, 8]}, "TN": {"values": [1, 2, 4, 8]}, "STAGES": {"values": [1, 2]}, "VECTOR": {"values": [false, true]}},
  "constraints": ["(BM // TM) * (BN // TN) <= 1024", "(BM + BN) * BK * STAGES * sizeof(T) <= device.shared_bytes", "BM >= TM and BN >= TN"],
  "presets": {"default": {"BM": 16, "BN": 16, "BK": 8, "TM": 1, "TN": 1, "STAGES": 1, "VECTOR": false}},
  "launch": {"block": ["BN // TN", "BM // TM"], "grid": ["ceil_div(n, BN)", "ceil_div(m, BM)"],
             "shared_bytes": "(BM + BN) * BK * STAGES * sizeof(T)"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "m * n", "access": "out"},
    {"name": "a", "type": "T*", "count": "m * k", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "b", "type": "T*", "count": "k * n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "m", "type": "i64", "value": "m"}],
  "reference": {"source": "reference.cu", "entry": "matmul_reference", "block": ["256"], "grid": ["ceil_div(m * n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}, "f16": {"rel": "0", "abs": "1"}},
  "work": {"flops": "2 * m * n * k", "bytes": "(m * k + k * n + m * n) * sizeof(T)"}
})json";

Configuration configuration(int number) {
  const auto take = [&number](int count) {
    const int taken = number % count;
    number /= count;
    return taken;
  };
  Configuration result;
  result.set("BM", std::int64_t{16} << take(4));
  result.set("BN", std::int64_t{16} << take(4));
  result.set("BK", std::int64_t{8} << take(2));
  result.set("TM", std::int64_t{4} << take(2));
  result.set("TN", std::int64_t{4} << take(2));
  result.set("STAGES", std::int64_t{1} + take(2));
  result.set("VECTOR", take(2) == 1);
  return result;
}

// Adds rows to the tables as the store would.
class Writer {
 public:
  Writer(sqlite::Database& book, const SyntheticBook& size)
      : book_(book),
        size_(size),
        session_(book,
                 "INSERT INTO session VALUES (?1, ?2, ?3, ?7, ?4, ?5, ?6, 1, 'nvrtc 13.0, driver 580.1', 'cold/2', 'genetic', 1, '200', "
                 "'[]', '', 12.5, '2026-11-29T10:00:00.000000Z', '2026-11-29T10:00:12.500000Z')"),
        winner_(book,
                "INSERT INTO winner (id, session_id, configuration_id, objective, median_us, ci_low_us, ci_high_us, gflops, registers, "
                "shared_bytes, recorded_utc) VALUES (?1, ?1, ?2, 'time', ?3, ?3 * 0.99, ?3 * 1.01, 1234.5, 64, 8192, "
                "'2026-11-29T10:00:12.000000Z')"),
        trial_(book,
               "INSERT INTO trial (key, session_id, configuration_id, environment_id, proposal, origin, reused, outcome, message, registers, "
               "shared_static_bytes, shared_dynamic_bytes, verified_problems, median_us, min_us, ci_low_us, ci_high_us, samples_us, "
               "launches_per_sample, recorded_utc) VALUES (?1, ?2, ?3, 1, ?4, 'strategy', 0, 'ok', '', 64, 0, 8192, 4, 10.5, 10.25, 10.4, "
               "10.6, ?5, 8, '2026-11-29T10:00:05.000000Z')") {}

  void write() {
    sqlite::Statement(book_, "INSERT INTO environment VALUES (1, ?, '{}')").execute(as_blob(to_hash(content_hash("{}"))));
    add_texts("INSERT INTO configuration VALUES (?, ?, ?)", kConfigurations, [](int i) { return configuration(i).canonical(); });
    add_texts("INSERT INTO problem VALUES (?, ?, ?)", size_.problems, [](int i) { return SyntheticBook::problem(i).canonical(); });
    sqlite::Statement device(book_, "INSERT INTO device VALUES (?, ?, ?, ?, ?, '', ?, ?, '', ?)");
    for (int i = 0; i < size_.devices; ++i) {
      const Device one = SyntheticBook::device(i);
      device.execute(i + 1, one.key(), one.kind, one.name, one.compute_capability, one.sm_count, one.memory_gib, to_book_text(one.to_json()));
    }
    sqlite::Statement kernel(book_, "INSERT INTO kernel VALUES (?, ?, 'hash-1', ?)");
    for (int i = 0; i < size_.kernels; ++i) {
      auto spec = nlohmann::ordered_json::parse(kSpec);
      spec["kernel"] = SyntheticBook::kernel_name(i);
      kernel.execute(i + 1, SyntheticBook::kernel_name(i), to_book_text(KernelSpec::parse(spec, "synthetic").to_json()));
      for (int of_kernel = 0; of_kernel < size_.problems * size_.devices; ++of_kernel) {
        add_session(i, of_kernel % size_.devices, of_kernel / size_.devices);
      }
    }
  }

 private:
  template <class Text>
  void add_texts(const char* sql, int count, Text&& text) {
    sqlite::Statement insert(book_, sql);
    for (int i = 0; i < count; ++i) {
      const std::string canonical = text(i);
      const Hash hash = to_hash(content_hash(canonical));
      insert.execute(i + 1, as_blob(hash), canonical);
    }
  }

  void add_session(int kernel, int device, int problem) {
    const std::int64_t id = ++sessions_;
    const std::string identity = size_.published ? "{}" : R"({"budget":"200","seed":1,"space":"0123456789abcdef","strategy":"genetic"})";
    const std::string uid = fmt::format("{:032x}", static_cast<unsigned long long>(id) * 0x9e3779b97f4a7c15ULL);
    const Hash hash = to_hash(uid);
    session_.execute(id, uid, as_blob(hash), kernel + 1, device + 1, problem + 1, identity);
    winner_.execute(id, 1 + (id * 7919) % kConfigurations, 10.0 + static_cast<double>(id % 1000));
    const std::int64_t until = static_cast<std::int64_t>(static_cast<double>(size_.trials) * static_cast<double>(id) / static_cast<double>(size_.winners()));
    for (std::int64_t proposal = 0; trials_ < until; ++proposal) {
      Hash key{};
      const std::uint64_t scattered = static_cast<std::uint64_t>(++trials_) * 0x9e3779b97f4a7c15ULL;
      std::memcpy(key.data(), &scattered, sizeof scattered);
      trial_.execute(as_blob(key), id, 1 + trials_ % kConfigurations, proposal, sqlite::Blob{samples_});
    }
  }

  sqlite::Database& book_;
  const SyntheticBook& size_;
  sqlite::Statement session_, winner_, trial_;
  const std::string samples_ = encode_doubles(std::vector<double>(10, 10.5));
  std::int64_t sessions_ = 0, trials_ = 0;
};

}  // namespace

std::string SyntheticBook::kernel_name(int kernel) { return fmt::format("matmul_{:03}", kernel); }

Device SyntheticBook::device(int device) {
  constexpr std::array<int, 5> kCapabilities = {80, 86, 89, 90, 100};
  Device result;
  result.kind = "cuda";
  result.name = fmt::format("NVIDIA Synthetic {}", device);
  result.compute_capability = kCapabilities[static_cast<std::size_t>(device / 2) % kCapabilities.size()];
  result.sm_count = 100 + device;
  result.memory_gib = 80;
  result.limits.shared_bytes_per_block_optin = 101376;
  return result;
}

Problem SyntheticBook::problem(int number) {
  // Three sizes from 1 to 8192 that look scattered; the last one tells all numbers apart.
  const auto scattered = static_cast<std::uint64_t>(number + 1) * 0x9e3779b97f4a7c15ULL;
  const auto size = [&](int shift) { return std::int64_t{1} + static_cast<std::int64_t>((scattered >> shift) % (std::uint64_t{1} << (3 + (scattered >> (shift + 9)) % 11))); };
  Problem problem;
  problem.set("m", size(20));
  problem.set("n", size(40));
  problem.set("k", std::int64_t{1 + number});
  problem.set("dtype", std::string("f32"));
  return problem;
}

void SyntheticBook::write(const std::filesystem::path& path) const {
  sqlite::Database book(path, sqlite::Database::Mode::read_write);
  // Made anew if this is interrupted.
  book.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -2000000");
  migrate(book, book_schema());
  {
    sqlite::Transaction transaction(book, sqlite::Transaction::Kind::write);
    Writer(book, *this).write();
    if (published) {
      book.execute("INSERT INTO publication VALUES ('2026-11-29T12:00:00.000000Z')");
    }
    transaction.commit();
  }
  if (!published) {
    book.execute("PRAGMA journal_mode = WAL");
  }
}

}  // namespace tunebook::testing
