#include "worker/message.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "worker/channel.h"

namespace tunebook {
namespace {

using nlohmann::json;

// What the other side gets: through the frame, as numbers may change their kind on the way.
json transmitted(const json& message) {
  FrameReader reader;
  reader.append(encode_frame(message));
  return reader.next().value();
}

template <typename T>
T request_round_trip(const T& request) {
  const json sent = transmitted(encode(Request{request}));
  const Request received = decode_request(sent);
  EXPECT_EQ(transmitted(encode(received)), sent);
  return std::get<T>(received);
}

template <typename T>
T reply_round_trip(const T& reply) {
  const json sent = transmitted(encode(Reply{reply}));
  const Reply received = decode_reply(sent);
  EXPECT_EQ(transmitted(encode(received)), sent);
  return std::get<T>(received);
}

KernelLaunch sample_launch() { return {"/cache/ab.cubin", "_Z6matmulIfE", LaunchShape{{7, 2, 1}, {32, 8, 1}, 49152}, {{3, -7, 0.5}}}; }

CompileRequest sample_compile() {
  CompileRequest request;
  request.id = 42;
  request.source = {"kernel.cu", "text \xff", {{"common/a.h", "#pragma once"}}};
  request.instantiation = {"matmul", "matmul<float, 64>", {{"finish", "finish<float>"}}, {{"TILE", "16"}}, {"--use_fast_math"}};
  request.arch = "sm_90a";
  request.emit = true;
  return request;
}

SetupRequest sample_setup() {
  ArgumentSetup argument;
  argument.name = "c";
  argument.dtype = DType::bf16;
  argument.pointer = true;
  argument.count = 1'000'000'000'000;
  argument.access = Argument::Access::inout;
  argument.fill = {Fill::Kind::uniform_int, -3, 5, "uniform_int(-3, 5)", 5};
  argument.seed = std::numeric_limits<std::uint64_t>::max();
  argument.integer = std::numeric_limits<std::int64_t>::min();
  argument.real = -std::numeric_limits<double>::infinity();
  argument.rel = 1e-3;
  argument.abs = 1e-300;
  ProblemSetup problem{3, "n=1", {argument}, sample_launch()};
  return {7, {problem}};
}

RunRequest sample_run() {
  RunRequest request;
  request.id = 9;
  request.verify = {{0, {sample_launch()}, true}, {1, {sample_launch()}, false, true}};
  request.time = ProblemLaunch{0, {sample_launch()}};
  request.timing = {CacheMode::warm, 7, 0.5, 6, 70, 0.25, 0.01, 123.5, 1.5};
  return request;
}

RunReply sample_run_reply() {
  RunReply reply;
  reply.id = 9;
  reply.outcome = Outcome::wrong_result;
  reply.message = "c[32] is nan";
  reply.resources.max_threads_per_block = 1024;
  reply.verification = {2, std::numeric_limits<double>::infinity(), 0.5};
  reply.timing = Timing{{1.5, 2.25, 1e-3}, 4, "cold/1", true, 1.25, {1980, std::nullopt, 41, 550.5, "power cap", 2}, 0.75, 0.25};
  return reply;
}

TEST(Message, CompileRequestRoundTrip) {
  const CompileRequest got = request_round_trip(sample_compile());
  EXPECT_EQ(got.id, 42);
  EXPECT_EQ(got.source.text, "text \xff");
  EXPECT_EQ(got.source.headers, sample_compile().source.headers);
  EXPECT_EQ(got.instantiation.defines, sample_compile().instantiation.defines);
  EXPECT_EQ(got.instantiation.options, sample_compile().instantiation.options);
  EXPECT_EQ(got.arch, "sm_90a");
  EXPECT_TRUE(got.emit);
}

TEST(Message, SetupRequestKeepsExtremeNumbers) {
  const SetupRequest got = request_round_trip(sample_setup());
  const ArgumentSetup& argument = got.problems.at(0).arguments.at(0);
  EXPECT_EQ(argument.dtype, DType::bf16);
  EXPECT_EQ(argument.count, 1'000'000'000'000);
  EXPECT_EQ(argument.access, Argument::Access::inout);
  EXPECT_EQ(argument.fill.kind, Fill::Kind::uniform_int);
  EXPECT_EQ(argument.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(argument.integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(argument.real, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(argument.abs, 1e-300);
  EXPECT_EQ(got.problems.at(0).reference.shape.block[1], 8);
  EXPECT_EQ(argument.fill.special, 5u);
}

TEST(Message, RunRequestRoundTrip) {
  const RunRequest got = request_round_trip(sample_run());
  EXPECT_EQ(got.verify.size(), 2u);
  EXPECT_EQ(got.time.value().launches.at(0).symbol, "_Z6matmulIfE");
  ASSERT_EQ(got.time.value().launches.at(0).scalars.size(), 1U);
  EXPECT_EQ(got.time.value().launches[0].scalars[0].integer, -7);
  EXPECT_EQ(got.timing.cache, CacheMode::warm);
  EXPECT_EQ(got.timing.min_kernel_seconds, 0.5);
  EXPECT_EQ(got.timing.abandon_samples, 6);
  EXPECT_EQ(got.timing.max_samples, 70);
  EXPECT_EQ(got.timing.abandon_above_us, 123.5);
  EXPECT_EQ(got.timing.energy_seconds, 1.5);
  EXPECT_TRUE(got.verify[0].nondeterministic && !got.verify[0].restore);
  EXPECT_TRUE(!got.verify[1].nondeterministic && got.verify[1].restore);

  RunRequest only_verify = sample_run();
  only_verify.time.reset();
  EXPECT_FALSE(request_round_trip(only_verify).time.has_value());
}

TEST(Message, InterleaveRoundTrip) {
  const InterleaveRequest request{5, {{0, {sample_launch()}}, {0, {sample_launch()}}}, 20, 2.5, CacheMode::warm};
  const InterleaveRequest got = request_round_trip(request);
  EXPECT_EQ(got.candidates.size(), 2u);
  EXPECT_EQ(got.samples, 20);
  EXPECT_EQ(got.max_seconds, 2.5);
  EXPECT_EQ(got.cache, CacheMode::warm);

  const InterleaveReply reply{5, Outcome::ok, "", {Timing{{1, 2}, 1, "cold/1", false, 0.5}, Timing{}}, {}};
  EXPECT_EQ(reply_round_trip(reply).timings.at(0).samples_us, (std::vector<double>{1, 2}));
  EXPECT_FALSE(reply_round_trip(reply).baseline);
}

TEST(Message, BaselineRoundTrip) {
  InterleaveRequest request{5, {{0, {sample_launch()}}, {0, {}}}, 20, 2.5, CacheMode::warm};
  request.candidates[1].baseline = BaselineLaunch{"gemm", {0, 2, 1}, {{"m", "7"}, {"math", "ieee"}}, {"a way", "another"}};
  const InterleaveRequest got = request_round_trip(request);
  EXPECT_FALSE(got.candidates.at(0).baseline);
  ASSERT_TRUE(got.candidates.at(1).baseline);
  EXPECT_EQ(got.candidates[1].baseline->operation, "gemm");
  EXPECT_EQ(got.candidates[1].baseline->arguments, (std::vector<std::int64_t>{0, 2, 1}));
  EXPECT_EQ(got.candidates[1].baseline->parameters, request.candidates[1].baseline->parameters);

  InterleaveReply reply;
  reply.baseline = BaselineReport{BaselineState::wrong_result, "cuBLAS 13.0", "c[0] is 1, expected 2", {"a way"}};
  const InterleaveReply answer = reply_round_trip(reply);
  ASSERT_TRUE(answer.baseline);
  EXPECT_EQ(answer.baseline->state, BaselineState::wrong_result);
  EXPECT_EQ(answer.baseline->name, "cuBLAS 13.0");
  EXPECT_EQ(answer.baseline->message, "c[0] is 1, expected 2");
  json odd = encode(Reply{reply});
  odd["baseline"]["state"] = "fine";
  EXPECT_THROW(decode_reply(odd), ProtocolError);
}

TEST(Message, HelloRoundTrip) {
  Hello hello;
  hello.role = WorkerRole::runner;
  hello.device = Device{};
  hello.device->kind = "cuda";
  hello.device->name = "NVIDIA H200";
  hello.device->compute_capability = 90;
  hello.device->limits.shared_bytes_per_block_optin = 232448;
  hello.native_arch = "sm_90";
  hello.toolchain = "nvrtc 13.0";
  hello.environment = {{"ecc", true}, {"clocks", {1980, 2619}}};
  const Hello got = reply_round_trip(hello);
  EXPECT_EQ(got.role, WorkerRole::runner);
  EXPECT_EQ(got.device.value().key(), hello.device->key());
  EXPECT_EQ(got.device->limits, hello.device->limits);
  EXPECT_EQ(got.environment, hello.environment);

  EXPECT_FALSE(reply_round_trip(Hello{}).device.has_value());
}

TEST(Message, RepliesRoundTrip) {
  CompileReply compile;
  compile.id = 3;
  compile.outcome = Outcome::compile_error;
  compile.message = std::string("error: \xc3\x28 \0 bad", 16);
  compile.resources.registers = 255;
  compile.cached = true;
  compile.seconds = 0.75;
  compile.emitted = {{"kernel.ptx", ".version 8.0"}};
  const CompileReply got = reply_round_trip(compile);
  EXPECT_EQ(got.message, compile.message);
  EXPECT_EQ(got.outcome, Outcome::compile_error);
  EXPECT_EQ(got.resources.registers, 255);
  EXPECT_EQ(got.resources.spill_load_bytes, -1);
  EXPECT_EQ(got.emitted, compile.emitted);
  EXPECT_EQ(got.seconds, 0.75);

  EXPECT_EQ(reply_round_trip(SetupReply{2, Outcome::out_of_memory, "16 GiB", 1.5}).message, "16 GiB");
  EXPECT_EQ(reply_round_trip(Stage{8, "verify m=1"}).what, "verify m=1");

  const RunReply run = reply_round_trip(sample_run_reply());
  EXPECT_EQ(run.outcome, Outcome::wrong_result);
  EXPECT_TRUE(std::isinf(run.verification.max_error));
  EXPECT_EQ(run.timing.value().samples_us, (std::vector<double>{1.5, 2.25, 1e-3}));
  EXPECT_EQ(run.timing->launches_per_sample, 4);
  EXPECT_TRUE(run.timing->abandoned);
}

// The message of the ProtocolError that decoding throws; "" if it does not.
std::string request_error(const json& message) {
  try {
    decode_request(message);
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "";
}

std::string reply_error(const json& message) {
  try {
    decode_reply(message);
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "";
}

// Every field of an object, taken out or replaced by something of another kind, must be named by the error.
void expect_each_field_is_checked(const json& message, const std::function<std::string(const json&)>& error_of,
                                  const std::vector<std::string>& optional) {
  for (const auto& [name, value] : message.items()) {
    if (std::find(optional.begin(), optional.end(), name) != optional.end()) continue;
    json without = message;
    without.erase(name);
    EXPECT_NE(error_of(without).find(name), std::string::npos) << name;
    if (name == "environment") continue;  // free-form
    json other = message;
    other[name] = value.is_array() ? json(true) : json::array({json::array()});
    EXPECT_NE(error_of(other).find(name), std::string::npos) << name;
  }
}

TEST(Message, MissingAndMistypedFieldsAreNamed) {
  for (const Request& request : {Request{sample_compile()}, Request{sample_setup()}, Request{sample_run()},
                                 Request{InterleaveRequest{1, {}, 10, 5, CacheMode::cold}}}) {
    expect_each_field_is_checked(encode(request), request_error, {"time"});
  }
  for (const Reply& reply : {Reply{Hello{}}, Reply{CompileReply{}}, Reply{SetupReply{}}, Reply{sample_run_reply()},
                             Reply{InterleaveReply{}}, Reply{Stage{1, "time"}}}) {
    expect_each_field_is_checked(encode(reply), reply_error, {"timing"});
  }
}

TEST(Message, NestedFieldsAreNamedWithTheirPath) {
  json setup = encode(Request{sample_setup()});
  setup["problems"][0]["arguments"][0].erase("seed");
  EXPECT_NE(request_error(setup).find("setup.problems[0].arguments[0].seed is missing"), std::string::npos);

  json run = encode(Request{sample_run()});
  run["verify"][1]["launches"][0]["grid"] = {1, 2};
  EXPECT_NE(request_error(run).find("run.verify[1].launches[0].grid"), std::string::npos);
}

TEST(Message, NumbersThatCannotBeAreRejected) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  json run = encode(Request{sample_run()});
  run["timing"]["max_seconds"] = nan;
  EXPECT_NE(request_error(run).find("max_seconds"), std::string::npos);

  json reply = encode(Reply{sample_run_reply()});
  reply["timing"]["samples_us"][1] = std::numeric_limits<double>::infinity();
  EXPECT_NE(reply_error(reply).find("samples_us"), std::string::npos);

  json setup = encode(Request{sample_setup()});
  setup["problems"][0]["arguments"][0]["rel"] = -1.0;
  EXPECT_NE(request_error(setup).find("rel"), std::string::npos);
  setup = encode(Request{sample_setup()});
  setup["problems"][0]["arguments"][0]["count"] = -1;
  EXPECT_NE(request_error(setup).find("count"), std::string::npos);
  setup = encode(Request{sample_setup()});
  setup["id"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_NE(request_error(setup).find("setup.id"), std::string::npos);
}

TEST(Message, UnknownWordsAndTypesAreRejected) {
  EXPECT_NE(request_error(json{{"type", "dance"}}).find("dance"), std::string::npos);
  EXPECT_NE(reply_error(json{{"type", "dance"}}).find("dance"), std::string::npos);
  EXPECT_NE(request_error(json{{"id", 1}}).find("type"), std::string::npos);
  EXPECT_NE(request_error(json::array()).find("object"), std::string::npos);
  EXPECT_NE(request_error(nullptr).find("object"), std::string::npos);

  json reply = encode(Reply{CompileReply{}});
  reply["outcome"] = "excellent";
  EXPECT_NE(reply_error(reply).find("compile.outcome"), std::string::npos);

  json hello = encode(Reply{Hello{}});
  hello["protocol"] = kProtocolVersion + 1;
  EXPECT_NE(reply_error(hello).find("another build"), std::string::npos);
  hello = encode(Reply{Hello{}});
  hello["device"] = {{"kind", 3}};
  EXPECT_NE(reply_error(hello).find("hello.device"), std::string::npos);
}

}  // namespace
}  // namespace tunebook
