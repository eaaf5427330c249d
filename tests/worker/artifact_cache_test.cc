#include "worker/artifact_cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"

namespace tunebook {
namespace {
namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class ArtifactCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tunebook-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("TUNEBOOK_CACHE", (folder_ / "a" / "cache").c_str(), 1);
    ::unsetenv("TUNEBOOK_CACHE_MIB");
  }
  void TearDown() override {
    ::unsetenv("TUNEBOOK_CACHE");
    ::unsetenv("TUNEBOOK_CACHE_MIB");
    fs::remove_all(folder_);
  }
  fs::path root() const { return folder_ / "a" / "cache"; }

  fs::path folder_;
  const std::string key_ = content_hash("key");
};

TEST_F(ArtifactCacheTest, WhatWasPublishedIsFound) {
  ArtifactCache cache("cubin", "cubin");
  EXPECT_FALSE(cache.lookup(key_).has_value());
  const fs::path path = cache.publish(key_, std::string("\0bytes", 6), {{"symbol", "k"}});
  EXPECT_EQ(path.extension(), ".cubin");
  const auto entry = ArtifactCache("cubin", "cubin").lookup(key_);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->artifact, path);
  EXPECT_EQ(content(entry->artifact), std::string("\0bytes", 6));
  EXPECT_EQ(entry->metadata, nlohmann::json({{"symbol", "k"}}));
  EXPECT_FALSE(ArtifactCache("cpu", "so").lookup(key_).has_value());
  EXPECT_FALSE(cache.lookup(content_hash("another")).has_value());
}

TEST_F(ArtifactCacheTest, LaterEntryReplaces) {
  ArtifactCache cache("cubin", "cubin");
  cache.publish(key_, "old", 1);
  cache.publish(key_, "new", 2);
  EXPECT_EQ(content(cache.lookup(key_)->artifact), "new");
  EXPECT_EQ(cache.lookup(key_)->metadata, 2);
}

TEST_F(ArtifactCacheTest, FoldersArePrivate) {
  ArtifactCache cache("cubin", "cubin");
  cache.publish(key_, "bytes", {});
  for (const fs::path& folder : {root(), root() / "cubin", root() / "cubin" / key_.substr(0, 2)}) {
    struct stat status = {};
    ASSERT_EQ(::stat(folder.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << folder;
  }
}

TEST_F(ArtifactCacheTest, DamageIsAMiss) {
  ArtifactCache cache("cubin", "cubin");
  const fs::path path = cache.publish(key_, "bytes", {});
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_FALSE(cache.lookup(key_).has_value());
  fs::remove(cache.publish(key_, "bytes", {}));
  EXPECT_FALSE(cache.lookup(key_).has_value());
  cache.publish(key_, "bytes", {});
  EXPECT_TRUE(cache.lookup(key_).has_value());
  for (const char* text : {"", "{", "[]", "null", "{\"version\": 1}", "{\"version\": \"x\", \"key\": 3, \"content\": 4, \"metadata\": {}}"}) {
    std::ofstream(path.parent_path() / (key_ + ".json")) << text;
    EXPECT_FALSE(cache.lookup(key_).has_value()) << text;
  }
}

TEST_F(ArtifactCacheTest, FoldersOthersCanWriteToAreRefused) {
  fs::create_directories(root());
  fs::permissions(root(), fs::perms::owner_all | fs::perms::group_write);
  try {
    ArtifactCache cache("cubin", "cubin");
    FAIL() << "accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(root().string()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("TUNEBOOK_CACHE"), std::string::npos);
  }
  fs::permissions(root(), fs::perms::owner_all | fs::perms::group_read);
  EXPECT_NO_THROW(ArtifactCache("cubin", "cubin"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(root().c_str(), 12345, 12345), 0);
    EXPECT_THROW(ArtifactCache("cubin", "cubin"), EnvironmentError);
  }
}

TEST_F(ArtifactCacheTest, AFileInItsPlaceIsRefused) {
  fs::create_directories(root().parent_path());
  std::ofstream(root()) << "x";
  EXPECT_THROW(ArtifactCache("cubin", "cubin"), EnvironmentError);
}

TEST_F(ArtifactCacheTest, UnwritableCacheFallsBackToAPrivateFolder) {
  fs::path path;
  {
    ArtifactCache cache("cubin", "cubin");
    // Root may write to a read-only folder, so a file stands where the entry's folder would be made.
    std::ofstream(root() / "cubin" / key_.substr(0, 2)) << "x";
    path = cache.publish(key_, "bytes", 5);
    EXPECT_EQ(content(path), "bytes");
    EXPECT_NE(path.string().find(root().string()), 0u);
    ASSERT_TRUE(cache.lookup(key_).has_value());
    EXPECT_EQ(cache.lookup(key_)->artifact, path);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ArtifactCacheTest, OldestEntriesGoWhenOverTheCap) {
  ::setenv("TUNEBOOK_CACHE_MIB", "1", 1);
  std::vector<std::string> keys;
  {
    ArtifactCache cache("cubin", "cubin");
    const std::string big(300000, 'x');
    for (int i = 0; i < 5; ++i) {
      keys.push_back(content_hash("k" + std::to_string(i)));
      const fs::path path = cache.publish(keys.back(), big + std::to_string(i), {});
      const auto age = std::chrono::hours(10 - i);
      fs::last_write_time(path, fs::file_time_type::clock::now() - age);
      fs::last_write_time(path.parent_path() / (keys.back() + ".json"), fs::file_time_type::clock::now() - age);
    }
  }
  fs::remove(root() / "cubin" / ".evict");  // the stamp: sizes were looked at a moment ago
  ArtifactCache cache("cubin", "cubin");
  EXPECT_FALSE(cache.lookup(keys.front()).has_value());
  EXPECT_TRUE(cache.lookup(keys.back()).has_value());
  ::setenv("TUNEBOOK_CACHE_MIB", "a lot", 1);
  EXPECT_THROW(ArtifactCache("cubin", "cubin"), EnvironmentError);
}

TEST_F(ArtifactCacheTest, ProcessesThatPublishOneKeyDoNotDisturbEachOther) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      bool good = true;
      ArtifactCache cache("cubin", "cubin");
      for (int i = 0; i < 50; ++i) {
        const std::string bytes(5000, static_cast<char>('a' + child));
        cache.publish(key_, bytes, child);
        const auto entry = cache.lookup(key_);
        good = good && entry && content(entry->artifact) == std::string(5000, static_cast<char>('a' + entry->metadata.get<int>()));
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST_F(ArtifactCacheTest, RootFollowsTheEnvironment) {
  EXPECT_EQ(ArtifactCache::root(), root());
  ::unsetenv("TUNEBOOK_CACHE");
  ::setenv("XDG_CACHE_HOME", "/somewhere/else", 1);
  EXPECT_EQ(ArtifactCache::root(), "/somewhere/else/tunebook");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tunebook
