#include "cpu/source_rewriter.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/random.h"
#include "core/cuda_tokens.h"

namespace tunebook {
namespace {

std::string rewrite(const std::string& text) { return rewrite_cuda_source(text, "kernel.cu", 0).text; }
auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Rewriter, OrdinaryTextStaysAsItIs) {
  const std::string text =
      "#include <x>\n// __shared__ int a[3];\n/* asm(\"x\"); */ const char* s = \"__shared__ int b; asm(\\\"y\\\")\";\n"
      "auto r = R\"x(#pragma unroll __shared__ int c;)x\"; int big = 1'000'000; char q = '\"';\n#define S(x) __shared__ int x\n";
  EXPECT_EQ(rewrite(text), text);
}

TEST(Rewriter, UnrollIsDropped) {
  EXPECT_EQ(rewrite("#pragma unroll\nfor\n# pragma unroll 4\n#pragma nounroll\n#pragma once\n"), "\nfor\n\n\n#pragma once\n");
  EXPECT_EQ(rewrite("void f() { _Pragma(\"unroll 2\") for (;;) ; }"), "void f() {   for (;;) ; }");
}

TEST(Rewriter, StaticShared) {
  EXPECT_EQ(rewrite("void f() { __shared__ float a[N][M + 1], b; }"),
            "void f() { struct tunebook_shared_0_0 { float a[N][M + 1], b;}; auto& a = "
            "::tunebook_cpu::static_shared<tunebook_shared_0_0>().a; auto& b = "
            "::tunebook_cpu::static_shared<tunebook_shared_0_0>().b; }");
  EXPECT_NE(rewrite("void f() { static __shared__ volatile __align__(16) Pair<int, A<3>> p; }").find("auto& p ="), std::string::npos);
  EXPECT_NE(rewrite("void f() { __shared__ typename X<T>::Storage temp; }").find("auto& temp ="), std::string::npos);
}

TEST(Rewriter, DynamicShared) {
  EXPECT_EQ(rewrite("void f() { extern __shared__ float s[]; }"),
            "void f() { float* s = ::tunebook_cpu::dynamic_shared<float>(); }");
  for (const char* text : {"void f() { extern __shared__ __align__(16) unsigned char s[]; g(s); }",
                           "void f() { extern __align__(16) __shared__ unsigned char s[]; g(s); }",
                           "void f() { extern __shared__ unsigned char s[] __attribute__((aligned(8))); g(s); }",
                           "void f() { extern alignas(16) __shared__ unsigned char s[]; g(s); }"}) {
    const std::string result = rewrite(text);
    EXPECT_NE(result.find("unsigned char* s = ::tunebook_cpu::dynamic_shared<"), std::string::npos) << result;
    EXPECT_EQ(result.find("lign"), std::string::npos) << result;
  }
}

TEST(Rewriter, NamespaceScopeNamesAreReplaced) {
  const std::string result = rewrite("namespace a { extern __shared__ float s[]; }\nvoid f() { s[0] = x.s + y->s; }");
  EXPECT_NE(result.find("tunebook_dynamic_0_0()[0] = x.s + y->s;"), std::string::npos) << result;
}

TEST(Rewriter, AssemblyBecomesAMarker) {
  const RewrittenSource result = rewrite_cuda_source("void f() {\n  asm volatile(\"a\"\n : \"=r\"(x));\n}\n", "h.cuh", 3);
  ASSERT_EQ(result.ptx_uses.size(), 1u);
  EXPECT_EQ(result.ptx_uses[0].line, 2);
  EXPECT_EQ(result.ptx_uses[0].file, "h.cuh");
  EXPECT_NE(result.text.find(result.ptx_uses[0].marker), std::string::npos);
  EXPECT_EQ(lines(result.text), 4);
}

TEST(Rewriter, WaitingLoopsYieldButDoLoopsDoNot) {
  EXPECT_EQ(rewrite("void f() { while (!x) ; }"), "void f() { while (::tunebook_cpu_spin(), !x) ; }");
  EXPECT_EQ(rewrite("void f() { while (g()) {} }"), "void f() { while (::tunebook_cpu_spin(), g()) {} }");
  EXPECT_EQ(rewrite("void f() { do { x(); } while (!x); while (y) z(); }"), "void f() { do { x(); } while (!x); while (y) z(); }");
}

TEST(Rewriter, LinesAreKept) {
  const std::string text =
      "__global__ void f() {\n  extern __shared__\n  float\n  s[];\n  __shared__ // why\n  int a[3],\n  b /* x\n y */ [4];\n"
      "#pragma unroll \\\n 4\n  for (;;) ;\n}\n";
  EXPECT_EQ(lines(rewrite(text)), lines(text)) << rewrite(text);
}

// Any sequence of tokens is accepted, loses no line, and the tokens together are the text.
TEST(Rewriter, RandomTexts) {
  const char* const pieces[] = {"__shared__", "extern",  "static", " ",      "\n",  "float", "s",    "[",  "]",    "(",   ")",     "{",
                                "}",          ";",       ",",      "asm",    "\"",  "'",     "\\",   "//", "/*",   "*/",  "#",     "pragma unroll",
                                "R\"(",       "while",   "do",     "<",      ">",   "=",     "1.5e", "+",  "alignas", "volatile", "_Pragma", "\"unroll\"",
                                "namespace",  "__align__", ")\"", "__attribute__", "\t", "::", "->", "."};
  Random random(42);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(40); i > 0; --i) text += pieces[random.below(std::size(pieces))];
    std::string joined;
    for (const CudaToken& token : split_cuda_tokens(text)) joined += token.text;
    ASSERT_EQ(joined, text);
    ASSERT_EQ(lines(rewrite(text)), lines(text)) << text << "\n=>\n" << rewrite(text);
  }
}

}  // namespace
}  // namespace tunebook
