#include "cuda/baseline_candidate.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/dtype.h"
#include "core/error.h"
#include "core/statistics.h"
#include "cuda/calibration_kernels.h"
#include "cuda/cuda_error.h"
#include "cuda/launch_graph.h"

namespace tunebook {
namespace {

// Of the device's free memory, for a library's workspace: the sets of buffers for timing have their share beside it.
constexpr double kMostOfFreeMemory = 0.25;
constexpr std::size_t kMostWorkspace = std::size_t{2} << 30;
// After one sample of each way: those near the fastest are measured again, so many times.
constexpr double kNear = 1.5;
constexpr std::size_t kMostNear = 6;
constexpr std::int64_t kSamples = 7;
// What other processes need not look beyond: the fastest that is right, and those that may be as fast.
constexpr double kAsFast = 1.15;
constexpr std::size_t kMostFast = 3;

const BaselineModule& module() {
  static const BaselineModule opened;  // tried again by the next call if it throws
  return opened;
}

std::size_t workspace_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
  return std::min(kMostWorkspace, static_cast<std::size_t>(kMostOfFreeMemory * static_cast<double>(free_bytes)));
}

}  // namespace

BaselineCandidate::BaselineCandidate(const BaselineLaunch& launch, ProblemBuffers& buffers, Sampler& sampler, CacheMode cache,
                                     cudaStream_t stream, const std::function<void()>& stage)
    : buffers_(buffers), stream_(stream) {
  stage();
  prepare(launch, sampler, cache, stage);
  if (ok() || launch.only.empty()) return;
  BaselineLaunch all = launch;  // what was fast and right elsewhere is not here
  all.only.clear();
  report_ = {};
  ways_.clear();
  arguments_.clear();
  prepared_.reset();
  prepare(all, sampler, cache, stage);
}

void BaselineCandidate::prepare(const BaselineLaunch& launch, Sampler& sampler, CacheMode cache, const std::function<void()>& stage) {
  try {
    find_ways(launch);
    keep_only(launch.only);
    drop_failing(stage);
    if (ways_.empty()) return;
    rank(sampler, cache, stage);
    choose(launch.operation != "copy", stage);
  } catch (const BaselineUnavailable& error) {
    fail(BaselineState::unavailable, error.what());
  } catch (const CudaError& error) {
    if (poisons_worker(error.outcome())) throw;
    fail(BaselineState::failed, error.what());
  } catch (const std::runtime_error& error) {
    fail(BaselineState::failed, error.what());
  }
}

void BaselineCandidate::launch(std::int64_t set) const {
  try {
    chosen_->queue(set);
  } catch (const CudaError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw EnvironmentError(fmt::format("{}: {}", report_.name, error.what()));
  }
}

void BaselineCandidate::fail(BaselineState state, const std::string& message) {
  report_.state = state;
  report_.message = message;
}

std::vector<void*> BaselineCandidate::pointers(std::int64_t set) const {
  std::vector<void*> addresses;
  for (const std::size_t argument : arguments_) addresses.push_back(buffers_.address(argument, set));
  return addresses;
}

void BaselineCandidate::find_ways(const BaselineLaunch& launch) {
  const std::vector<ArgumentSetup>& known = buffers_.arguments();
  for (const std::int64_t argument : launch.arguments) {
    const auto place = static_cast<std::size_t>(argument);
    if (place >= known.size() || !known[place].pointer) throw std::runtime_error(fmt::format("argument {} is no buffer", argument));
    arguments_.push_back(place);
  }
  if (launch.operation == "copy") {
    add_copies(launch);
  } else {
    add_library(launch);
  }
}

void BaselineCandidate::add_copies(const BaselineLaunch&) {
  if (arguments_.size() != 2) throw std::runtime_error("a copy has two buffers");
  std::size_t bytes = ~std::size_t{0};
  for (const std::size_t argument : arguments_) {
    const ArgumentSetup& setup = buffers_.arguments()[argument];
    bytes = std::min(bytes, static_cast<std::size_t>(setup.count) * dtype_size(setup.dtype));
  }
  report_.name = "device copy";
  ways_.push_back({"cudaMemcpyAsync", [this, bytes](std::int64_t set) {
                     const std::vector<void*> p = pointers(set);
                     check_cuda(cudaMemcpyAsync(p[0], p[1], bytes, cudaMemcpyDeviceToDevice, stream_), "copying");
                   }});
  for (const TransferShape& shape : kTransferShapes) {
    ways_.push_back({fmt::format("a kernel of {} threads, {} x 16 bytes each", shape.threads, shape.items), [this, bytes, shape](std::int64_t set) {
                       const std::vector<void*> p = pointers(set);
                       queue_copy(shape, p[1], p[0], bytes, stream_);
                       check_cuda(cudaGetLastError(), "copying");
                     }});
  }
}

void BaselineCandidate::add_library(const BaselineLaunch& launch) {
  const std::vector<void*> addresses = pointers(0);
  std::vector<TunebookBaselineBuffer> buffers;
  std::vector<std::string> dtypes;
  for (const std::size_t argument : arguments_) dtypes.emplace_back(dtype_name(buffers_.arguments()[argument].dtype));
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    buffers.push_back({addresses[i], dtypes[i].c_str(), buffers_.arguments()[arguments_[i]].count});
  }
  std::vector<TunebookBaselineParameter> parameters;
  for (const auto& [name, value] : launch.parameters) parameters.push_back({name.c_str(), value.c_str()});
  std::vector<const char*> only;
  for (const std::string& name : launch.only) only.push_back(name.c_str());
  const TunebookBaselineRequest request = {launch.operation.c_str(), buffers.data(), static_cast<int>(buffers.size()), parameters.data(),
                                           static_cast<int>(parameters.size()), only.empty() ? nullptr : only.data(), static_cast<int>(only.size()),
                                           workspace_bytes(), stream_};
  prepared_ = std::make_unique<BaselineModule::Prepared>(module(), request);
  report_.name = prepared_->name();
  for (int i = 0; i < prepared_->algorithms(); ++i) {
    ways_.push_back({prepared_->algorithm_name(i), [this, i](std::int64_t set) { prepared_->enqueue(i, pointers(set)); }});
  }
}

// Unless that leaves none.
void BaselineCandidate::keep_only(const std::vector<std::string>& names) {
  const auto wanted = [&](const Way& way) { return std::ranges::find(names, way.name) != names.end(); };
  if (std::ranges::any_of(ways_, wanted)) std::erase_if(ways_, [&](const Way& way) { return !wanted(way); });
}

// Once as it is and once captured: what cannot be captured could not be timed as the kernels are.
void BaselineCandidate::drop_failing(const std::function<void()>& stage) {
  std::string reason;
  std::erase_if(ways_, [&](const Way& way) {
    stage();
    const std::string why = failure_of(way);
    if (!why.empty()) reason = fmt::format("{}: {}", way.name, why);
    return !why.empty();
  });
  if (ways_.empty()) fail(BaselineState::failed, reason);
}

std::string BaselineCandidate::failure_of(const Way& way) const {
  try {
    way.queue(0);
    check_cuda(cudaStreamSynchronize(stream_), "running the baseline");
  } catch (const CudaError& error) {
    if (poisons_worker(error.outcome())) throw;
    return error.what();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  try {
    const LaunchGraph captured(stream_, [&] { way.queue(0); });
    return "";
  } catch (const std::runtime_error& error) {
    // Nothing ran, so that no error of this kind is one of the device.
    cudaGetLastError();
    return fmt::format("it cannot be captured into a graph: {}", error.what());
  }
}

void BaselineCandidate::rank(Sampler& sampler, CacheMode cache, const std::function<void()>& stage) {
  const auto by_time = [](const Way& x, const Way& y) { return x.us < y.us; };
  for (Way& way : ways_) {
    stage();
    way.us = median(sampler.sample_launches(way.queue, 1, cache, 1));
  }
  std::stable_sort(ways_.begin(), ways_.end(), by_time);
  const double near_us = ways_.front().us * kNear;
  const std::int64_t wanted = Batching().launches_for(ways_.front().us);
  const std::int64_t sets = wanted > 1 && cache == CacheMode::cold ? buffers_.ensure_sets(wanted) : 1;
  std::size_t near = 0;
  while (near < std::min(ways_.size(), kMostNear) && ways_[near].us <= near_us) {
    stage();
    ways_[near].us = median(sampler.sample_launches(ways_[near].queue, sets, cache, kSamples));
    ++near;
  }
  std::stable_sort(ways_.begin(), ways_.begin() + static_cast<std::ptrdiff_t>(near), by_time);
}

void BaselineCandidate::choose(bool verified, const std::function<void()>& stage) {
  std::string wrong;
  for (const Way& way : ways_) {
    stage();
    const Judgement verdict = verified ? buffers_.verify_queued([&] { way.queue(0); }, arguments_) : Judgement();
    if (verdict.outcome == Outcome::ok) {
      chosen_ = &way;
      report_.message = way.name + (wrong.empty() ? "" : fmt::format(" ({})", wrong));
      for (const Way* other = &way; other != ways_.data() + ways_.size() && report_.fast.size() < kMostFast; ++other) {
        if (other->us <= way.us * kAsFast) report_.fast.push_back(other->name);
      }
      return;
    }
    buffers_.repair();
    if (wrong.empty()) wrong = fmt::format("the fastest is wrong: {}: {}", way.name, verdict.message);
  }
  fail(BaselineState::wrong_result, wrong);
}

}  // namespace tunebook
