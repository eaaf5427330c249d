#include "worker/message.h"

#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "worker/channel.h"
#include "worker/object_reader.h"

namespace tunebook {
namespace {

using nlohmann::json;

// Words on the wire for our enumerations.
template <typename Enum, std::size_t Size>
using WordTable = std::array<std::pair<std::string_view, Enum>, Size>;

constexpr WordTable<WorkerRole, 2> kRoles = {{{"compiler", WorkerRole::compiler}, {"runner", WorkerRole::runner}}};
constexpr WordTable<CacheMode, 2> kCacheModes = {{{"cold", CacheMode::cold}, {"warm", CacheMode::warm}}};
constexpr WordTable<Argument::Access, 4> kAccesses = {{{"in", Argument::Access::in},
                                                       {"out", Argument::Access::out},
                                                       {"inout", Argument::Access::inout},
                                                       {"workspace", Argument::Access::workspace}}};
constexpr WordTable<Fill::Kind, 6> kFillKinds = {{{"none", Fill::Kind::none},
                                                  {"uniform", Fill::Kind::uniform},
                                                  {"uniform_int", Fill::Kind::uniform_int},
                                                  {"normal", Fill::Kind::normal},
                                                  {"iota", Fill::Kind::iota},
                                                  {"zero", Fill::Kind::zero}}};

template <typename Table, typename Enum>
std::string word_of(const Table& table, Enum value) {
  for (const auto& [word, known] : table) {
    if (known == value) return std::string(word);
  }
  throw ProtocolError("message: an enumeration has no word for its value");
}

Outcome read_outcome(const ObjectReader& reader, const char* name) {
  const std::optional<Outcome> outcome = parse_outcome(reader.text(name));
  if (!outcome) reader.fail(name, "is not an outcome");
  return *outcome;
}

DType read_dtype(const ObjectReader& reader, const char* name) {
  const std::optional<DType> dtype = parse_dtype(reader.text(name));
  if (!dtype) reader.fail(name, "is not a data type");
  return *dtype;
}

// Device and Resources check themselves, with exceptions of their own.
template <typename T>
T read_core(const ObjectReader& reader, const char* name) {
  const json& value = reader.field(name);
  try {
    return T::from_json(value);
  } catch (const std::exception& error) {
    reader.fail(name, fmt::format("is malformed: {}", error.what()));
  }
}

template <typename Range, typename Encode>
json encode_all(const Range& range, Encode encode_one) {
  json result = json::array();
  for (const auto& element : range) result.push_back(encode_one(element));
  return result;
}

json encode_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  return encode_all(pairs, [](const auto& pair) { return json::array({pair.first, pair.second}); });
}

json encode_source(const SourceText& source) {
  return {{"file", source.file}, {"text", source.text}, {"headers", encode_pairs(source.headers)}};
}

SourceText decode_source(const ObjectReader& reader) {
  return {reader.text("file"), reader.text("text"), reader.text_pairs("headers")};
}

json encode_kernel_name(const KernelName& name) { return {{"entry", name.entry}, {"expression", name.expression}}; }

KernelName decode_kernel_name(const ObjectReader& reader) { return {reader.text("entry"), reader.text("expression")}; }

json encode_instantiation(const Instantiation& instantiation) {
  return {{"entry", instantiation.entry},
          {"name_expression", instantiation.name_expression},
          {"others", encode_all(instantiation.others, encode_kernel_name)},
          {"defines", encode_pairs(instantiation.defines)},
          {"options", instantiation.options}};
}

Instantiation decode_instantiation(const ObjectReader& reader) {
  return {reader.text("entry"), reader.text("name_expression"), reader.objects("others", decode_kernel_name),
          reader.text_pairs("defines"), reader.texts("options")};
}

json encode_fill(const Fill& fill) {
  return {{"kind", word_of(kFillKinds, fill.kind)}, {"low", fill.low}, {"high", fill.high}, {"special", fill.special}, {"text", fill.text}};
}

Fill decode_fill(const ObjectReader& reader) {
  return {reader.word("kind", kFillKinds), reader.finite("low"), reader.finite("high"),
          reader.text("text"), static_cast<unsigned>(reader.unsigned_integer("special"))};
}

json encode_argument(const ArgumentSetup& argument) {
  return {{"name", argument.name},
          {"dtype", std::string(dtype_name(argument.dtype))},
          {"pointer", argument.pointer},
          {"count", argument.count},
          {"access", word_of(kAccesses, argument.access)},
          {"fill", encode_fill(argument.fill)},
          {"seed", argument.seed},
          {"integer", argument.integer},
          {"real", argument.real},
          {"rel", argument.rel},
          {"abs", argument.abs}};
}

ArgumentSetup decode_argument(const ObjectReader& reader) {
  ArgumentSetup argument;
  argument.name = reader.text("name");
  argument.dtype = read_dtype(reader, "dtype");
  argument.pointer = reader.boolean("pointer");
  argument.count = reader.count("count");
  argument.access = reader.word("access", kAccesses);
  argument.fill = decode_fill(reader.object("fill"));
  argument.seed = reader.unsigned_integer("seed");
  argument.integer = reader.integer("integer");
  argument.real = reader.real("real");  // an infinite scalar argument is legal
  argument.rel = reader.at_least_zero("rel");
  argument.abs = reader.at_least_zero("abs");
  return argument;
}

json encode_scalar(const ScalarValue& scalar) {
  return {{"argument", scalar.argument}, {"integer", scalar.integer}, {"real", scalar.real}};
}

ScalarValue decode_scalar(const ObjectReader& reader) { return {reader.count("argument"), reader.integer("integer"), reader.real("real")}; }

json encode_workspace(const WorkspaceSize& workspace) { return {{"argument", workspace.argument}, {"count", workspace.count}}; }

WorkspaceSize decode_workspace(const ObjectReader& reader) { return {reader.count("argument"), reader.count("count")}; }

json encode_launch(const KernelLaunch& launch) {
  return {{"artifact", launch.artifact},
          {"symbol", launch.symbol},
          {"grid", launch.shape.grid},
          {"block", launch.shape.block},
          {"shared_bytes", launch.shape.shared_bytes},
          {"scalars", encode_all(launch.scalars, encode_scalar)}};
}

KernelLaunch decode_launch(const ObjectReader& reader) {
  return {reader.text("artifact"), reader.text("symbol"),
          LaunchShape{reader.sizes("grid"), reader.sizes("block"), reader.count("shared_bytes")},
          reader.objects("scalars", decode_scalar)};
}

json encode_problem(const ProblemSetup& problem) {
  return {{"problem", problem.problem},
          {"display", problem.display},
          {"arguments", encode_all(problem.arguments, encode_argument)},
          {"reference", encode_launch(problem.reference)}};
}

ProblemSetup decode_problem(const ObjectReader& reader) {
  return {reader.count("problem"), reader.text("display"), reader.objects("arguments", decode_argument),
          decode_launch(reader.object("reference"))};
}

json encode_baseline(const BaselineLaunch& baseline) {
  return {{"operation", baseline.operation}, {"arguments", baseline.arguments}, {"parameters", encode_pairs(baseline.parameters)},
          {"only", baseline.only}};
}

BaselineLaunch decode_baseline(const ObjectReader& reader) {
  return {reader.text("operation"), reader.counts("arguments"), reader.text_pairs("parameters"), reader.texts("only")};
}

json encode_problem_launch(const ProblemLaunch& launch) {
  json result = {{"problem", launch.problem},
                 {"launches", encode_all(launch.launches, encode_launch)},
                 {"nondeterministic", launch.nondeterministic},
                 {"restore", launch.restore},
                 {"workspaces", encode_all(launch.workspaces, encode_workspace)}};
  if (launch.baseline) result["baseline"] = encode_baseline(*launch.baseline);
  return result;
}

ProblemLaunch decode_problem_launch(const ObjectReader& reader) {
  ProblemLaunch launch = {reader.count("problem"), reader.objects("launches", decode_launch), reader.boolean("nondeterministic"),
                          reader.boolean("restore"), reader.objects("workspaces", decode_workspace), std::nullopt};
  if (reader.has("baseline")) launch.baseline = decode_baseline(reader.object("baseline"));
  return launch;
}

json encode_plan(const TimingPlan& plan) {
  return {{"cache", word_of(kCacheModes, plan.cache)},
          {"min_samples", plan.min_samples},
          {"min_kernel_seconds", plan.min_kernel_seconds},
          {"abandon_samples", plan.abandon_samples},
          {"max_samples", plan.max_samples},
          {"max_seconds", plan.max_seconds},
          {"target_relative_width", plan.target_relative_width},
          {"abandon_above_us", plan.abandon_above_us},
          {"energy_seconds", plan.energy_seconds}};
}

TimingPlan decode_plan(const ObjectReader& reader) {
  TimingPlan plan;
  plan.cache = reader.word("cache", kCacheModes);
  plan.min_samples = reader.count("min_samples");
  plan.min_kernel_seconds = reader.at_least_zero("min_kernel_seconds");
  plan.abandon_samples = reader.count("abandon_samples");
  plan.max_samples = reader.count("max_samples");
  plan.max_seconds = reader.at_least_zero("max_seconds");
  plan.target_relative_width = reader.at_least_zero("target_relative_width");
  plan.abandon_above_us = reader.at_least_zero("abandon_above_us");
  plan.energy_seconds = reader.at_least_zero("energy_seconds");
  return plan;
}

void put(json& result, const char* name, const std::optional<double>& value) {
  if (value) result[name] = *value;
}

std::optional<double> read_optional(const ObjectReader& reader, const char* name) {
  return reader.has(name) ? std::optional<double>(reader.finite(name)) : std::nullopt;
}

json encode_conditions(const Conditions& conditions) {
  json result = {{"throttled", conditions.throttled}, {"retaken_batches", conditions.retaken_batches}};
  put(result, "sm_clock_mhz", conditions.sm_clock_mhz);
  put(result, "memory_clock_mhz", conditions.memory_clock_mhz);
  put(result, "temperature_c", conditions.temperature_c);
  put(result, "power_w", conditions.power_w);
  return result;
}

Conditions decode_conditions(const ObjectReader& reader) {
  return {read_optional(reader, "sm_clock_mhz"),  read_optional(reader, "memory_clock_mhz"),
          read_optional(reader, "temperature_c"), read_optional(reader, "power_w"),
          reader.text("throttled"),               reader.count("retaken_batches")};
}

json encode_timing(const Timing& timing) {
  json result = {{"samples_us", timing.samples_us},
                 {"launches_per_sample", timing.launches_per_sample},
                 {"method", timing.method},
                 {"abandoned", timing.abandoned},
                 {"launch_us", timing.launch_us},
                 {"conditions", encode_conditions(timing.conditions)},
                 {"seconds", timing.seconds}};
  put(result, "energy_j", timing.energy_j);
  return result;
}

Timing decode_timing(const ObjectReader& reader) {
  Timing timing;
  timing.samples_us = reader.finite_numbers("samples_us");
  timing.launches_per_sample = reader.count("launches_per_sample");
  timing.method = reader.text("method");
  timing.abandoned = reader.boolean("abandoned");
  timing.launch_us = reader.at_least_zero("launch_us");
  timing.conditions = decode_conditions(reader.object("conditions"));
  timing.energy_j = read_optional(reader, "energy_j");
  timing.seconds = reader.at_least_zero("seconds");
  return timing;
}

json encode_ceiling(const Ceiling& ceiling) {
  return {{"what", ceiling.what}, {"bytes", ceiling.bytes}, {"method", ceiling.method},
          {"rate", ceiling.rate}, {"low", ceiling.low},     {"high", ceiling.high}};
}

Ceiling decode_ceiling(const ObjectReader& reader) {
  return {reader.text("what"),           reader.count("bytes"),        reader.text("method"),
          reader.at_least_zero("rate"), reader.at_least_zero("low"), reader.at_least_zero("high")};
}

json encode_verification(const Verification& verification) {
  return {{"problems", verification.problems},
          {"max_error", verification.max_error},
          {"seconds", verification.seconds}};
}

Verification decode_verification(const ObjectReader& reader) {
  // A wrong result can be off by infinity or by NaN.
  return {reader.count("problems"), reader.real("max_error"), reader.at_least_zero("seconds")};
}

// The whole messages. Each names its type; replies to a request have the request's.

json encode_message(const CompileRequest& request) {
  return {{"type", "compile"},
          {"id", request.id},
          {"source", encode_source(request.source)},
          {"instantiation", encode_instantiation(request.instantiation)},
          {"arch", request.arch},
          {"emit", request.emit}};
}

CompileRequest decode_compile_request(const ObjectReader& reader) {
  return {reader.integer("id"), decode_source(reader.object("source")),
          decode_instantiation(reader.object("instantiation")), reader.text("arch"), reader.boolean("emit")};
}

json encode_message(const SetupRequest& request) {
  return {{"type", "setup"}, {"id", request.id}, {"problems", encode_all(request.problems, encode_problem)}};
}

SetupRequest decode_setup_request(const ObjectReader& reader) {
  return {reader.integer("id"), reader.objects("problems", decode_problem)};
}

json encode_message(const RunRequest& request) {
  json result = {{"type", "run"},
                 {"id", request.id},
                 {"verify", encode_all(request.verify, encode_problem_launch)},
                 {"timing", encode_plan(request.timing)}};
  if (request.time) result["time"] = encode_problem_launch(*request.time);
  return result;
}

RunRequest decode_run_request(const ObjectReader& reader) {
  RunRequest request;
  request.id = reader.integer("id");
  request.verify = reader.objects("verify", decode_problem_launch);
  if (reader.has("time")) request.time = decode_problem_launch(reader.object("time"));
  request.timing = decode_plan(reader.object("timing"));
  return request;
}

json encode_message(const InterleaveRequest& request) {
  return {{"type", "interleave"},
          {"id", request.id},
          {"candidates", encode_all(request.candidates, encode_problem_launch)},
          {"samples", request.samples},
          {"max_seconds", request.max_seconds},
          {"cache", word_of(kCacheModes, request.cache)},
          {"energy_seconds", request.energy_seconds}};
}

InterleaveRequest decode_interleave_request(const ObjectReader& reader) {
  return {reader.integer("id"), reader.objects("candidates", decode_problem_launch), reader.count("samples"),
          reader.at_least_zero("max_seconds"), reader.word("cache", kCacheModes), reader.at_least_zero("energy_seconds")};
}

json encode_message(const CalibrateRequest& request) {
  return {{"type", "calibrate"},
          {"id", request.id},
          {"cache", word_of(kCacheModes, request.cache)},
          {"bytes", request.bytes},
          {"arithmetic", request.arithmetic}};
}

CalibrateRequest decode_calibrate_request(const ObjectReader& reader) {
  return {reader.integer("id"), reader.word("cache", kCacheModes), reader.counts("bytes"), reader.boolean("arithmetic")};
}

json encode_message(const Hello& hello) {
  json result = {{"type", "hello"},
                 {"protocol", hello.protocol},
                 {"role", word_of(kRoles, hello.role)},
                 {"native_arch", hello.native_arch},
                 {"toolchain", hello.toolchain},
                 {"driver", hello.driver},
                 {"environment", hello.environment},
                 {"error", hello.error}};
  if (hello.device) result["device"] = hello.device->to_json();
  return result;
}

Hello decode_hello(const ObjectReader& reader) {
  Hello hello;
  const std::int64_t protocol = reader.integer("protocol");
  if (protocol != kProtocolVersion) {
    reader.fail("protocol", fmt::format("is version {}, this program speaks version {}: the worker is of another build",
                                        protocol, kProtocolVersion));
  }
  hello.role = reader.word("role", kRoles);
  if (reader.has("device")) hello.device = read_core<Device>(reader, "device");
  hello.native_arch = reader.text("native_arch");
  hello.toolchain = reader.text("toolchain");
  hello.driver = reader.text("driver");
  hello.environment = reader.field("environment");
  hello.error = reader.text("error");
  return hello;
}

json encode_message(const CompileReply& reply) {
  return {{"type", "compile"},
          {"id", reply.id},
          {"outcome", std::string(outcome_name(reply.outcome))},
          {"message", reply.message},
          {"artifact", reply.artifact},
          {"symbol", reply.symbol},
          {"other_symbols", reply.other_symbols},
          {"resources", reply.resources.to_json()},
          {"options", reply.options},
          {"cached", reply.cached},
          {"seconds", reply.seconds},
          {"emitted", encode_pairs(reply.emitted)}};
}

CompileReply decode_compile_reply(const ObjectReader& reader) {
  CompileReply reply;
  reply.id = reader.integer("id");
  reply.outcome = read_outcome(reader, "outcome");
  reply.message = reader.text("message");
  reply.artifact = reader.text("artifact");
  reply.symbol = reader.text("symbol");
  reply.other_symbols = reader.texts("other_symbols");
  reply.resources = read_core<Resources>(reader, "resources");
  reply.options = reader.text("options");
  reply.cached = reader.boolean("cached");
  reply.seconds = reader.at_least_zero("seconds");
  reply.emitted = reader.text_pairs("emitted");
  return reply;
}

json encode_message(const SetupReply& reply) {
  return {{"type", "setup"},
          {"id", reply.id},
          {"outcome", std::string(outcome_name(reply.outcome))},
          {"message", reply.message},
          {"seconds", reply.seconds}};
}

SetupReply decode_setup_reply(const ObjectReader& reader) {
  return {reader.integer("id"), read_outcome(reader, "outcome"), reader.text("message"),
          reader.at_least_zero("seconds")};
}

json encode_message(const RunReply& reply) {
  json result = {{"type", "run"},
                 {"id", reply.id},
                 {"outcome", std::string(outcome_name(reply.outcome))},
                 {"message", reply.message},
                 {"resources", reply.resources.to_json()},
                 {"verification", encode_verification(reply.verification)}};
  if (reply.timing) result["timing"] = encode_timing(*reply.timing);
  return result;
}

RunReply decode_run_reply(const ObjectReader& reader) {
  RunReply reply;
  reply.id = reader.integer("id");
  reply.outcome = read_outcome(reader, "outcome");
  reply.message = reader.text("message");
  reply.resources = read_core<Resources>(reader, "resources");
  reply.verification = decode_verification(reader.object("verification"));
  if (reader.has("timing")) reply.timing = decode_timing(reader.object("timing"));
  return reply;
}

json encode_message(const InterleaveReply& reply) {
  json result = {{"type", "interleave"},
                 {"id", reply.id},
                 {"outcome", std::string(outcome_name(reply.outcome))},
                 {"message", reply.message},
                 {"timings", encode_all(reply.timings, encode_timing)}};
  if (reply.baseline) {
    result["baseline"] = {{"state", std::string(baseline_state_name(reply.baseline->state))},
                          {"name", reply.baseline->name},
                          {"message", reply.baseline->message},
                          {"fast", reply.baseline->fast}};
  }
  return result;
}

BaselineReport decode_baseline_report(const ObjectReader& reader) {
  const std::optional<BaselineState> state = parse_baseline_state(reader.text("state"));
  if (!state) reader.fail("state", "is not a state of a baseline");
  return {*state, reader.text("name"), reader.text("message"), reader.texts("fast")};
}

InterleaveReply decode_interleave_reply(const ObjectReader& reader) {
  InterleaveReply reply = {reader.integer("id"), read_outcome(reader, "outcome"), reader.text("message"),
                           reader.objects("timings", decode_timing), std::nullopt};
  if (reader.has("baseline")) reply.baseline = decode_baseline_report(reader.object("baseline"));
  return reply;
}

json encode_message(const CalibrateReply& reply) {
  return {{"type", "calibrate"},
          {"id", reply.id},
          {"outcome", std::string(outcome_name(reply.outcome))},
          {"message", reply.message},
          {"ceilings", encode_all(reply.ceilings, encode_ceiling)}};
}

CalibrateReply decode_calibrate_reply(const ObjectReader& reader) {
  return {reader.integer("id"), read_outcome(reader, "outcome"), reader.text("message"),
          reader.objects("ceilings", decode_ceiling)};
}

json encode_message(const Stage& stage) { return {{"type", "stage"}, {"id", stage.id}, {"what", stage.what}}; }

Stage decode_stage(const ObjectReader& reader) { return {reader.integer("id"), reader.text("what")}; }

std::string message_type(const json& message) { return ObjectReader(message, "message").text("type"); }

}  // namespace

json encode(const Request& request) {
  return std::visit([](const auto& message) { return encode_message(message); }, request);
}

json encode(const Reply& reply) {
  return std::visit([](const auto& message) { return encode_message(message); }, reply);
}

Request decode_request(const json& message) {
  const std::string type = message_type(message);
  const ObjectReader reader(message, type);
  if (type == "compile") return decode_compile_request(reader);
  if (type == "setup") return decode_setup_request(reader);
  if (type == "run") return decode_run_request(reader);
  if (type == "interleave") return decode_interleave_request(reader);
  if (type == "calibrate") return decode_calibrate_request(reader);
  throw ProtocolError(fmt::format("message: \"{}\" is not a type of request", type));
}

Reply decode_reply(const json& message) {
  const std::string type = message_type(message);
  const ObjectReader reader(message, type);
  if (type == "hello") return decode_hello(reader);
  if (type == "compile") return decode_compile_reply(reader);
  if (type == "setup") return decode_setup_reply(reader);
  if (type == "run") return decode_run_reply(reader);
  if (type == "interleave") return decode_interleave_reply(reader);
  if (type == "calibrate") return decode_calibrate_reply(reader);
  if (type == "stage") return decode_stage(reader);
  throw ProtocolError(fmt::format("message: \"{}\" is not a type of reply", type));
}

}  // namespace tunebook
