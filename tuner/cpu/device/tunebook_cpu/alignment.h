#pragma once

// What clang++ and g++ call where an address is not aligned to its type, in a kernel that is compiled with -fsanitize=alignment. Defined in
// the kernel itself, which then needs no runtime library: the functions and their arguments are those of the compilers' sanitizer ABI.

namespace tunebook_cpu::alignment {

struct SourceLocation {
  const char* file;
  unsigned line, column;
};
struct TypeDescriptor {
  unsigned short kind, info;
  char name[1];  // in single quotes
};
struct TypeMismatch {
  SourceLocation place;
  const TypeDescriptor* type;
  unsigned char log_alignment, check;
};
struct AlignmentAssumption {
  SourceLocation place, assumption;
  const TypeDescriptor* type;
};

// A GPU's widest access is 16 bytes, and so is what the start of a buffer is aligned to here.
inline constexpr unsigned long kWidest = 16;

class Text {
 public:
  Text& operator<<(const char* words) {
    while (*words != '\0' && length_ + 1 < sizeof(text_)) text_[length_++] = *words++;
    return *this;
  }
  Text& operator<<(unsigned long number) {
    char digits[24];
    unsigned count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0 && length_ + 1 < sizeof(text_)) text_[length_++] = digits[--count];
    return *this;
  }
  const char* done() {
    text_[length_] = '\0';
    return text_;
  }

 private:
  char text_[256];
  unsigned length_ = 0;
};

__attribute__((noinline, unused)) static void report(const SourceLocation& place, const TypeDescriptor* type, unsigned long address,
                                                     unsigned long alignment) {
  if (alignment > kWidest) alignment = kWidest;
  if (address % alignment == 0) return;
  Text text;
  text << "unaligned access: a value of type " << type->name << " must be at a multiple of " << alignment
       << " bytes, and the address is a multiple of " << (address & -address);
  tunebook_cpu_trap(text.done(), place.file, static_cast<int>(place.line));
}

}  // namespace tunebook_cpu::alignment

extern "C" {

__attribute__((visibility("hidden"), used)) inline void __ubsan_handle_type_mismatch_v1(tunebook_cpu::alignment::TypeMismatch* data,
                                                                                        unsigned long address) {
  tunebook_cpu::alignment::report(data->place, data->type, address, 1ul << data->log_alignment);
}

__attribute__((visibility("hidden"), used)) inline void __ubsan_handle_alignment_assumption(
    tunebook_cpu::alignment::AlignmentAssumption* data, unsigned long address, unsigned long alignment, unsigned long offset) {
  tunebook_cpu::alignment::report(data->place, data->type, address - offset, alignment);
}

}  // extern "C"
