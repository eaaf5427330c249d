#pragma once

#include <filesystem>
#include <set>

namespace tunebook {

// The right to compile, shared by the sessions of a machine: a file of N bytes is N slots, and who compiles has locked one. The locks are
// advisory and of this open file (F_OFD_SETLK): the operating system takes them back from a process that dies, however it dies, and
// workers, which close the file, do not inherit them. Waiting means asking again.
class CompileSlots {
 public:
  // Makes the file for so many slots, or adapts the one that is there. Throws EnvironmentError.
  static void create(const std::filesystem::path& file, int slots);

  // Throws InputError if there is no such file or it has no bytes.
  explicit CompileSlots(const std::filesystem::path& file);
  ~CompileSlots();
  CompileSlots(const CompileSlots&) = delete;
  CompileSlots& operator=(const CompileSlots&) = delete;

  // One more slot, if one is free now. On a file system without locks always, up to the number of slots.
  bool try_take();
  void give_back();
  int held() const { return static_cast<int>(held_.size()); }
  int slots() const { return slots_; }

 private:
  std::filesystem::path file_;
  int fd_ = -1;
  int slots_ = 0;
  int first_ = 0;          // where this process looks first, so that not all look at the same one
  std::set<int> held_;
};

// $TUNEBOOK_COMPILE_SLOTS, or "": compile pools take a slot of this file for each compile.
std::filesystem::path compile_slots_file();

}  // namespace tunebook
