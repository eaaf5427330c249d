// cuBLAS and cuBLASLt for gemm.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "baselines/dynamic_library.h"
#include "baselines/operation.h"

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace tunebook::baselines {
namespace {

// What cuBLASLt names as the fastest is tried; more take longer than they are worth.
constexpr int kHeuristics = 12;
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;  // twice of what NVIDIA advises for Hopper

std::vector<std::string> names(const char* library) {
  std::vector<std::string> names = {std::string(library) + ".so." + std::to_string(CUBLAS_VER_MAJOR)};
  for (const int other : {14, 13, 12}) {
    if (other != CUBLAS_VER_MAJOR) names.push_back(std::string(library) + ".so." + std::to_string(other));
  }
  return names;
}

class Cublas {
 public:
  Cublas() : lt_library_("cuBLASLt", names("libcublasLt")), library_("cuBLAS", names("libcublas")) {
    library_.resolve("cublasCreate_v2", create);
    library_.resolve("cublasDestroy_v2", destroy);
    library_.resolve("cublasSetStream_v2", set_stream);
    library_.resolve("cublasSetWorkspace_v2", set_workspace);
    library_.resolve("cublasGetProperty", get_property);
    library_.resolve("cublasGetStatusString", status_string);
    library_.resolve("cublasGemmEx", gemm_ex);
    library_.resolve("cublasSgemv_v2", sgemv);
    library_.resolve("cublasDgemv_v2", dgemv);
    lt_library_.resolve("cublasLtCreate", lt_create);
    lt_library_.resolve("cublasLtDestroy", lt_destroy);
    lt_library_.resolve("cublasLtMatmulDescCreate", lt_desc_create);
    lt_library_.resolve("cublasLtMatmulDescDestroy", lt_desc_destroy);
    lt_library_.resolve("cublasLtMatmulDescSetAttribute", lt_desc_set);
    lt_library_.resolve("cublasLtMatrixLayoutCreate", lt_layout_create);
    lt_library_.resolve("cublasLtMatrixLayoutDestroy", lt_layout_destroy);
    lt_library_.resolve("cublasLtMatmulPreferenceCreate", lt_preference_create);
    lt_library_.resolve("cublasLtMatmulPreferenceDestroy", lt_preference_destroy);
    lt_library_.resolve("cublasLtMatmulPreferenceSetAttribute", lt_preference_set);
    lt_library_.resolve("cublasLtMatmulAlgoGetHeuristic", lt_heuristic);
    lt_library_.resolve("cublasLtMatmul", lt_matmul);
  }

  std::string version() const {
    int major = 0, minor = 0, patch = 0;
    get_property(MAJOR_VERSION, &major);
    get_property(MINOR_VERSION, &minor);
    get_property(PATCH_LEVEL, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }
  std::string file() const { return library_.file_of(reinterpret_cast<const void*>(create)); }
  void check(cublasStatus_t status, const char* call) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string text = std::string(call) + ": " + status_string(status);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) throw Unavailable(text);
    throw std::runtime_error(text);
  }

 private:
  DynamicLibrary lt_library_;  // first: cuBLAS needs it, and finds the one that is loaded
  DynamicLibrary library_;

 public:
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasGetProperty) get_property = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  // Named, because the header offers overloads in C++.
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*, cudaDataType, int,
                            const void*, cudaDataType, int, const void*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
  cublasStatus_t (*sgemv)(cublasHandle_t, cublasOperation_t, int, int, const float*, const float*, int, const float*, int, const float*, float*,
                          int) = nullptr;
  cublasStatus_t (*dgemv)(cublasHandle_t, cublasOperation_t, int, int, const double*, const double*, int, const double*, int, const double*,
                          double*, int) = nullptr;
  decltype(&cublasLtCreate) lt_create = nullptr;
  decltype(&cublasLtDestroy) lt_destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) lt_desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) lt_desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) lt_desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) lt_layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) lt_layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) lt_preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) lt_preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) lt_preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) lt_heuristic = nullptr;
  decltype(&cublasLtMatmul) lt_matmul = nullptr;
};

const Cublas& cublas() {
  static const Cublas library;
  return library;
}

cudaDataType data_type(const std::string& dtype) {
  if (dtype == "f32") return CUDA_R_32F;
  if (dtype == "f64") return CUDA_R_64F;
  if (dtype == "f16") return CUDA_R_16F;
  if (dtype == "bf16") return CUDA_R_16BF;
  throw Unavailable("cuBLAS is used for f32, f64, f16 and bf16, not for " + dtype);
}

// Sums are in the type that the mode of arithmetic asks for: ieee never rounds an operand, and products are not on tensor cores where
// those would be less exact. Without "pedantic" cuBLAS already keeps f32 in f32.
cublasComputeType_t compute_type(cudaDataType input, bool tensor) {
  switch (input) {
    case CUDA_R_64F: return CUBLAS_COMPUTE_64F;
    case CUDA_R_32F: return tensor ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    default: return tensor ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
  }
}

int small(std::int64_t size) {
  if (size > INT32_MAX) throw Unavailable("cuBLAS takes sizes below 2^31, not " + std::to_string(size));
  return static_cast<int>(size);
}

// alpha and beta in the type of the sums.
struct Factor {
  float single = 0;
  double twice = 0;
  const void* of(cublasComputeType_t compute) const { return compute == CUBLAS_COMPUTE_64F ? static_cast<const void*>(&twice) : &single; }
};

// Row-major c = a b is column-major c' = b' a': the operands change places.
class Gemm : public Operation {
 public:
  explicit Gemm(const Request& request)
      : m_(small(request.integer("m"))), n_(small(request.integer("n"))), k_(small(request.integer("k"))),
        op_a_(request.flag("transpose_a") ? CUBLAS_OP_T : CUBLAS_OP_N), op_b_(request.flag("transpose_b") ? CUBLAS_OP_T : CUBLAS_OP_N),
        lda_(op_a_ == CUBLAS_OP_T ? m_ : k_), ldb_(op_b_ == CUBLAS_OP_T ? k_ : n_), type_c_(data_type(request.dtype(0))),
        type_a_(data_type(request.dtype(1))), type_b_(data_type(request.dtype(2))),
        compute_(compute_type(type_a_, request.word("math") == "tensor")), stream_(request.stream()),
        workspace_(std::min(kWorkspaceBytes, request.workspace_bytes())) {
    request.require_elements(0, std::int64_t{m_} * n_);
    request.require_elements(1, std::int64_t{m_} * k_);
    request.require_elements(2, std::int64_t{k_} * n_);
    alpha_ = {static_cast<float>(request.number("alpha")), request.number("alpha")};
    beta_ = {static_cast<float>(request.number("beta")), request.number("beta")};
    const Cublas& library = cublas();
    library.check(library.create(handle_.created()), "cublasCreate");
    library.check(library.set_stream(handle_.get(), request.stream()), "cublasSetStream");
    library.check(library.set_workspace(handle_.get(), workspace_.get(), workspace_.bytes()), "cublasSetWorkspace");
    separate_ = request.buffers() == 4;
    if (separate_) {
      request.require_elements(3, std::int64_t{m_} * n_);
      if (request.dtype(3) != request.dtype(0)) throw Unavailable("cuBLAS takes c_in in the type of c");
    } else {
      // These add to c in place, so c_in is of no use to them.
      ways_.push_back({"cublasGemmEx", [this](void* const* p) { gemm_ex(p); }});
      add_gemv();
    }
    describe_matmul();
    add_heuristics();
    if (ways_.empty()) throw Unavailable("cuBLASLt has nothing for this product");
  }

  std::string name() const override { return "cuBLAS " + cublas().version(); }
  std::vector<std::string> algorithms() const override {
    std::vector<std::string> result;
    for (const auto& [name, run] : ways_) result.push_back(name);
    return result;
  }
  void enqueue(std::size_t algorithm, void* const* pointers) override { ways_.at(algorithm).second(pointers); }

 private:
  static void destroy_layout(cublasLtMatrixLayout_t layout) { cublas().lt_layout_destroy(layout); }

  void gemm_ex(void* const* p) {
    cublas().check(cublas().gemm_ex(handle_.get(), op_b_, op_a_, n_, m_, k_, alpha_.of(compute_), p[2], type_b_, ldb_, p[1], type_a_, lda_,
                                    beta_.of(compute_), p[0], type_c_, n_, compute_, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
  }

  // A matrix and a vector, whose product has functions of its own for f32 and f64.
  void add_gemv() {
    if ((m_ != 1 && n_ != 1) || type_a_ != type_b_ || type_a_ != type_c_ || (type_a_ != CUDA_R_32F && type_a_ != CUDA_R_64F)) return;
    if (type_a_ == CUDA_R_32F && compute_ != CUBLAS_COMPUTE_32F) return;
    ways_.push_back({"cublasGemv", [this](void* const* p) { gemv(p); }});
  }

  void gemv(void* const* p) {
    // As column-major: c = b' a for one row; c = a'' b for one column, a being the transpose of what lies there.
    const bool one_row = m_ == 1;
    const void* matrix = one_row ? p[2] : p[1];
    const void* vector = one_row ? p[1] : p[2];
    const bool transposed = one_row ? op_b_ == CUBLAS_OP_T : op_a_ == CUBLAS_OP_T;
    const int ld = one_row ? ldb_ : lda_;
    const int rows = ld, columns = one_row ? (transposed ? n_ : k_) : (transposed ? k_ : m_);
    const bool turn = one_row == transposed;
    const cublasOperation_t operation = turn ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasStatus_t status =
        type_a_ == CUDA_R_32F
            ? cublas().sgemv(handle_.get(), operation, rows, columns, &alpha_.single, static_cast<const float*>(matrix), ld,
                             static_cast<const float*>(vector), 1, &beta_.single, static_cast<float*>(p[0]), 1)
            : cublas().dgemv(handle_.get(), operation, rows, columns, &alpha_.twice, static_cast<const double*>(matrix), ld,
                             static_cast<const double*>(vector), 1, &beta_.twice, static_cast<double*>(p[0]), 1);
    cublas().check(status, "cublasGemv");
  }

  void describe_matmul() {
    const Cublas& library = cublas();
    library.check(library.lt_create(lt_.created()), "cublasLtCreate");
    library.check(library.lt_desc_create(desc_.created(), compute_, compute_ == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescCreate");
    library.check(library.lt_desc_set(desc_.get(), CUBLASLT_MATMUL_DESC_TRANSA, &op_b_, sizeof op_b_), "cublasLtMatmulDescSetAttribute");
    library.check(library.lt_desc_set(desc_.get(), CUBLASLT_MATMUL_DESC_TRANSB, &op_a_, sizeof op_a_), "cublasLtMatmulDescSetAttribute");
    const auto layout = [&](Owned<cublasLtMatrixLayout_t>& made, cudaDataType type, int rows, int columns, int ld) {
      library.check(library.lt_layout_create(made.created(), type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), ld), "cublasLtMatrixLayoutCreate");
    };
    layout(layout_b_, type_b_, ldb_, op_b_ == CUBLAS_OP_T ? n_ : k_, ldb_);
    layout(layout_a_, type_a_, lda_, op_a_ == CUBLAS_OP_T ? k_ : m_, lda_);
    layout(layout_c_, type_c_, n_, m_, n_);
    library.check(library.lt_preference_create(preference_.created()), "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = workspace_.bytes();
    library.check(library.lt_preference_set(preference_.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
                  "cublasLtMatmulPreferenceSetAttribute");
  }

  // No heuristic for a case is no fault: the plain call remains.
  void add_heuristics() {
    std::array<cublasLtMatmulHeuristicResult_t, kHeuristics> found{};
    int count = 0;
    if (cublas().lt_heuristic(lt_.get(), desc_.get(), layout_b_.get(), layout_a_.get(), layout_c_.get(), layout_c_.get(), preference_.get(), kHeuristics, found.data(), &count) !=
        CUBLAS_STATUS_SUCCESS) {
      return;
    }
    for (int i = 0; i < count; ++i) {
      if (found[static_cast<std::size_t>(i)].state != CUBLAS_STATUS_SUCCESS) continue;
      ways_.push_back({"cublasLtMatmul, choice " + std::to_string(i + 1) + " of " + std::to_string(count),
                       [this, algorithm = found[static_cast<std::size_t>(i)].algo](void* const* p) {
                         cublas().check(cublas().lt_matmul(lt_.get(), desc_.get(), alpha_.of(compute_), p[2], layout_b_.get(), p[1], layout_a_.get(),
                                                           beta_.of(compute_), p[separate_ ? 3 : 0], layout_c_.get(), p[0], layout_c_.get(), &algorithm, workspace_.get(), workspace_.bytes(), stream_),
                                        "cublasLtMatmul");
                       }});
    }
  }

  int m_, n_, k_;
  cublasOperation_t op_a_, op_b_;
  int lda_, ldb_;
  cudaDataType type_c_, type_a_, type_b_;
  cublasComputeType_t compute_;
  Factor alpha_, beta_;
  bool separate_ = false;  // beta's matrix is another than c
  cudaStream_t stream_;
  Workspace workspace_;
  Owned<cublasHandle_t> handle_{[](cublasHandle_t handle) { cublas().destroy(handle); }};
  Owned<cublasLtHandle_t> lt_{[](cublasLtHandle_t handle) { cublas().lt_destroy(handle); }};
  Owned<cublasLtMatmulDesc_t> desc_{[](cublasLtMatmulDesc_t desc) { cublas().lt_desc_destroy(desc); }};
  Owned<cublasLtMatrixLayout_t> layout_a_{destroy_layout}, layout_b_{destroy_layout}, layout_c_{destroy_layout};
  Owned<cublasLtMatmulPreference_t> preference_{[](cublasLtMatmulPreference_t preference) { cublas().lt_preference_destroy(preference); }};
  std::vector<std::pair<std::string, std::function<void(void* const*)>>> ways_;
};

}  // namespace

std::unique_ptr<Operation> make_gemm(const Request& request) { return std::make_unique<Gemm>(request); }

std::string describe_cublas() {
  try {
    return "cuBLAS " + cublas().version() + " " + cublas().file();
  } catch (const std::exception& error) {
    return std::string("cuBLAS: ") + error.what();
  }
}

}  // namespace tunebook::baselines

#else  // a toolkit without cuBLAS

namespace tunebook::baselines {

std::unique_ptr<Operation> make_gemm(const Request&) {
  throw Unavailable("this module was built without the headers of cuBLAS; install them with the CUDA toolkit and build again");
}
std::string describe_cublas() { return "cuBLAS: built without its headers"; }

}  // namespace tunebook::baselines

#endif
