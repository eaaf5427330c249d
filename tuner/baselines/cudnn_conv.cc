// cuDNN for conv2d: all forward algorithms that it finds for the case, by its own times.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "baselines/cudnn_api.h"
#include "baselines/dynamic_library.h"
#include "baselines/operation.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
// Where the headers are there, what cudnn_api.h says is compared with them.
namespace tunebook::baselines::cudnn {
static_assert(CUDNN_MAJOR != 9 ||
              (int(CUDNN_DATA_FLOAT) == kFloat && int(CUDNN_DATA_DOUBLE) == kDouble && int(CUDNN_DATA_HALF) == kHalf &&
               int(CUDNN_DATA_BFLOAT16) == kBfloat16 && int(CUDNN_TENSOR_NCHW) == kNchw && int(CUDNN_CONVOLUTION) == kConvolution &&
               int(CUDNN_CROSS_CORRELATION) == kCrossCorrelation && int(CUDNN_DEFAULT_MATH) == kDefaultMath &&
               int(CUDNN_TENSOR_OP_MATH) == kTensorOpMath && int(CUDNN_FMA_MATH) == kFmaMath && int(CUDNN_STATUS_SUCCESS) == kSuccess &&
               int(CUDNN_CONVOLUTION_FWD_ALGO_COUNT) == kAlgorithms && int(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED) == 7));
static_assert(CUDNN_MAJOR != 9 || (sizeof(Performance) == sizeof(cudnnConvolutionFwdAlgoPerf_t) &&
                                   offsetof(Performance, workspace_bytes) == offsetof(cudnnConvolutionFwdAlgoPerf_t, memory) &&
                                   offsetof(Performance, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType)));
}  // namespace tunebook::baselines::cudnn
#endif

namespace tunebook::baselines {
namespace {

// Several versions of an algorithm, which differ in their arithmetic, may be returned.
constexpr int kMostFound = 2 * cudnn::kAlgorithms;
constexpr std::size_t kLeastWorkspace = std::size_t{1} << 20;

class Cudnn {
 public:
  Cudnn() : library_("cuDNN 9", {"libcudnn.so.9"}) {
    library_.resolve("cudnnGetVersion", get_version);
    library_.resolve("cudnnGetErrorString", error_string);
    library_.resolve("cudnnCreate", create);
    library_.resolve("cudnnDestroy", destroy);
    library_.resolve("cudnnSetStream", set_stream);
    library_.resolve("cudnnCreateTensorDescriptor", create_tensor);
    library_.resolve("cudnnDestroyTensorDescriptor", destroy_tensor);
    library_.resolve("cudnnSetTensor4dDescriptor", set_tensor);
    library_.resolve("cudnnCreateFilterDescriptor", create_filter);
    library_.resolve("cudnnDestroyFilterDescriptor", destroy_filter);
    library_.resolve("cudnnSetFilter4dDescriptor", set_filter);
    library_.resolve("cudnnCreateConvolutionDescriptor", create_convolution);
    library_.resolve("cudnnDestroyConvolutionDescriptor", destroy_convolution);
    library_.resolve("cudnnSetConvolution2dDescriptor", set_convolution);
    library_.resolve("cudnnSetConvolutionMathType", set_math);
    library_.resolve("cudnnFindConvolutionForwardAlgorithmEx", find_forward);
    library_.resolve("cudnnGetConvolutionForwardWorkspaceSize", get_forward_workspace);
    library_.resolve("cudnnConvolutionForward", forward);
  }

  std::string version() const {
    const std::size_t number = get_version();  // 91900 for 9.19.0
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
  }
  std::string file() const { return library_.file_of(reinterpret_cast<const void*>(get_version)); }
  void check(cudnn::Status status, const char* call) const {
    if (status != cudnn::kSuccess) throw std::runtime_error(std::string(call) + ": " + error_string(status));
  }

 private:
  DynamicLibrary library_;

 public:
  cudnn::GetVersion* get_version = nullptr;
  cudnn::GetErrorString* error_string = nullptr;
  cudnn::Create* create = nullptr;
  cudnn::Destroy* destroy = nullptr;
  cudnn::SetStream* set_stream = nullptr;
  cudnn::CreateTensor* create_tensor = nullptr;
  cudnn::DestroyTensor* destroy_tensor = nullptr;
  cudnn::SetTensor* set_tensor = nullptr;
  cudnn::CreateFilter* create_filter = nullptr;
  cudnn::DestroyFilter* destroy_filter = nullptr;
  cudnn::SetFilter* set_filter = nullptr;
  cudnn::CreateConvolution* create_convolution = nullptr;
  cudnn::DestroyConvolution* destroy_convolution = nullptr;
  cudnn::SetConvolution* set_convolution = nullptr;
  cudnn::SetMath* set_math = nullptr;
  cudnn::FindForward* find_forward = nullptr;
  cudnn::GetForwardWorkspace* get_forward_workspace = nullptr;
  cudnn::Forward* forward = nullptr;
};

const Cudnn& library() {
  static const Cudnn library;
  return library;
}

cudnn::DataType data_type(const std::string& dtype) {
  if (dtype == "f32") return cudnn::kFloat;
  if (dtype == "f64") return cudnn::kDouble;
  if (dtype == "f16") return cudnn::kHalf;
  if (dtype == "bf16") return cudnn::kBfloat16;
  throw Unavailable("cuDNN is used for f32, f64, f16 and bf16, not for " + dtype);
}

class Convolution : public Operation {
 public:
  explicit Convolution(const Request& request) : type_(data_type(request.dtype(0))) {
    if (request.dtype(1) != request.dtype(0) || request.dtype(2) != request.dtype(0)) throw Unavailable("cuDNN takes one data type for all buffers");
    const Cudnn& dnn = library();
    dnn.check(dnn.create(handle_.created()), "cudnnCreate");
    dnn.check(dnn.set_stream(handle_.get(), request.stream()), "cudnnSetStream");
    describe(request);
    if (!take_known(request)) find(request);
  }

  std::string name() const override { return "cuDNN " + library().version(); }
  std::vector<std::string> algorithms() const override {
    std::vector<std::string> result;
    for (const cudnn::Performance& way : ways_) result.push_back(algorithm_name(way));
    return result;
  }

  void enqueue(std::size_t algorithm, void* const* pointers) override {
    const cudnn::Performance& way = ways_.at(algorithm);
    const Cudnn& dnn = library();
    dnn.check(dnn.set_math(convolution_.get(), way.math), "cudnnSetConvolutionMathType");
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    const bool wide = type_ == cudnn::kDouble;
    dnn.check(dnn.forward(handle_.get(), wide ? static_cast<const void*>(&one_f64) : &one, input_.get(), pointers[1], filter_.get(), pointers[2],
                          convolution_.get(), way.algorithm, workspace_.get(), workspace_.bytes(),
                          wide ? static_cast<const void*>(&zero_f64) : &zero, output_.get(), pointers[0]),
              "cudnnConvolutionForward");
  }

 private:
  static void destroy_tensor(cudnn::TensorDescriptor tensor) { library().destroy_tensor(tensor); }

  static std::string algorithm_name(const cudnn::Performance& way) {
    const bool known = way.algorithm >= 0 && way.algorithm < cudnn::kAlgorithms;
    return known ? cudnn::kAlgorithmNames[way.algorithm] : "algorithm " + std::to_string(way.algorithm);
  }

  void describe(const Request& request) {
    const auto size = [&](const char* name) {
      const std::int64_t value = request.integer(name);
      if (value > INT32_MAX) throw Unavailable("cuDNN takes sizes below 2^31, not " + std::to_string(value));
      return static_cast<int>(value);
    };
    const int n = size("n"), c = size("c"), h = size("h"), w = size("w"), k = size("k"), r = size("r"), s = size("s");
    const int pad_h = size("pad_h"), pad_w = size("pad_w");
    const int out_h = h + 2 * pad_h - r + 1, out_w = w + 2 * pad_w - s + 1;
    if (out_h < 1 || out_w < 1) throw std::runtime_error("the filter is larger than the padded input: correct the kernel's \"baseline\"");
    request.require_elements(0, std::int64_t{n} * k * out_h * out_w);
    request.require_elements(1, std::int64_t{n} * c * h * w);
    request.require_elements(2, std::int64_t{k} * c * r * s);
    tensor_mode_ = request.word("math") == "tensor";
    const Cudnn& dnn = library();
    dnn.check(dnn.create_tensor(input_.created()), "cudnnCreateTensorDescriptor");
    dnn.check(dnn.create_tensor(output_.created()), "cudnnCreateTensorDescriptor");
    dnn.check(dnn.create_filter(filter_.created()), "cudnnCreateFilterDescriptor");
    dnn.check(dnn.create_convolution(convolution_.created()), "cudnnCreateConvolutionDescriptor");
    dnn.check(dnn.set_tensor(input_.get(), cudnn::kNchw, type_, n, c, h, w), "cudnnSetTensor4dDescriptor");
    dnn.check(dnn.set_tensor(output_.get(), cudnn::kNchw, type_, n, k, out_h, out_w), "cudnnSetTensor4dDescriptor");
    dnn.check(dnn.set_filter(filter_.get(), type_, cudnn::kNchw, k, c, r, s), "cudnnSetFilter4dDescriptor");
    // Sums are in f32, of f64 in f64.
    dnn.check(dnn.set_convolution(convolution_.get(), pad_h, pad_w, 1, 1, 1, 1, request.flag("flip") ? cudnn::kConvolution : cudnn::kCrossCorrelation,
                                  type_ == cudnn::kDouble ? cudnn::kDouble : cudnn::kFloat),
              "cudnnSetConvolution2dDescriptor");
    // ieee: fused multiply-adds alone. Otherwise cuDNN may round f32 to tf32.
    dnn.check(dnn.set_math(convolution_.get(), tensor_mode_ ? cudnn::kTensorOpMath : cudnn::kFmaMath), "cudnnSetConvolutionMathType");
  }

  // cuDNN's search runs every algorithm, also those that take a hundred times as long. Whether one of those that are enough is there.
  bool take_known(const Request& request) {
    const Cudnn& dnn = library();
    std::size_t needed = 0;
    for (const std::string& name : request.only()) {
      const auto* const found = std::find(std::begin(cudnn::kAlgorithmNames), std::end(cudnn::kAlgorithmNames), name);
      if (found == std::end(cudnn::kAlgorithmNames)) continue;
      cudnn::Performance way{};
      way.algorithm = static_cast<cudnn::Algorithm>(found - std::begin(cudnn::kAlgorithmNames));
      for (const cudnn::MathType math : tensor_mode_ ? std::vector{cudnn::kTensorOpMath, cudnn::kFmaMath} : std::vector{cudnn::kFmaMath}) {
        way.math = math;
        dnn.check(dnn.set_math(convolution_.get(), math), "cudnnSetConvolutionMathType");
        if (dnn.get_forward_workspace(handle_.get(), input_.get(), filter_.get(), convolution_.get(), output_.get(), way.algorithm,
                                      &way.workspace_bytes) != cudnn::kSuccess || way.workspace_bytes > request.workspace_bytes()) continue;
        ways_.push_back(way);
        needed = std::max(needed, way.workspace_bytes);
      }
    }
    if (!ways_.empty()) workspace_ = Workspace(needed);
    return !ways_.empty();
  }

  void find(const Request& request) {
    Workspace largest = largest_workspace(request.workspace_bytes());
    std::vector<cudnn::Performance> found(kMostFound);
    int count = 0;
    const Cudnn& dnn = library();
    dnn.check(dnn.find_forward(handle_.get(), input_.get(), request.pointer(1), filter_.get(), request.pointer(2), convolution_.get(), output_.get(),
                               request.pointer(0), kMostFound, &count, found.data(), largest.get(), largest.bytes()),
              "cudnnFindConvolutionForwardAlgorithmEx");
    found.resize(static_cast<std::size_t>(count));
    std::size_t needed = 0;
    for (const cudnn::Performance& way : found) {
      if (way.status != cudnn::kSuccess || (!tensor_mode_ && way.math != cudnn::kFmaMath) || way.workspace_bytes > largest.bytes()) continue;
      ways_.push_back(way);
      needed = std::max(needed, way.workspace_bytes);
    }
    if (ways_.empty()) throw Unavailable("cuDNN has no algorithm for this convolution");
    largest = Workspace();
    workspace_ = Workspace(needed);
  }

  static Workspace largest_workspace(std::size_t bytes) {
    for (; bytes >= kLeastWorkspace; bytes /= 2) {
      try {
        return Workspace(bytes);
      } catch (const std::runtime_error&) {
        // Memory is short: with less of it some algorithms are out of reach.
      }
    }
    return {};
  }

  cudnn::DataType type_;
  bool tensor_mode_ = false;
  Owned<cudnn::Handle> handle_{[](cudnn::Handle handle) { library().destroy(handle); }};
  Owned<cudnn::TensorDescriptor> input_{destroy_tensor}, output_{destroy_tensor};
  Owned<cudnn::FilterDescriptor> filter_{[](cudnn::FilterDescriptor filter) { library().destroy_filter(filter); }};
  Owned<cudnn::ConvolutionDescriptor> convolution_{[](cudnn::ConvolutionDescriptor one) { library().destroy_convolution(one); }};
  Workspace workspace_;
  std::vector<cudnn::Performance> ways_;
};

}  // namespace

std::unique_ptr<Operation> make_conv2d(const Request& request) { return std::make_unique<Convolution>(request); }

std::string describe_cudnn() {
  try {
    return "cuDNN " + library().version() + " " + library().file();
  } catch (const std::exception& error) {
    return std::string("cuDNN: ") + error.what();
  }
}

}  // namespace tunebook::baselines
