// A convolution layer with 3 x 3 filters, stride 1 and zero padding 1: out(n, k, y, x) is the sum over c < channels, r < 3, s < 3 of
// in(n, c, y + r - 1, x + s - 1) * weights(k, c, r, s). NCHW: in is images x channels x h x w, weights filters x channels x 3 x 3, out
// images x filters x h x w. Every size >= 1 is right.
//
// METHOD 0 is one result per thread, from global memory. With METHOD 1 a block makes PH x PW pixels of KB output channels, a thread
// TH x TW pixels of TK channels. CB input channels at a time are staged in shared memory: the pixels with their halo, and the weights
// transposed, so that a thread's TK neighbouring channels are one wide read. A pixel that was read serves up to nine taps and TK
// channels, so shared memory is asked far less than by a matrix product of the same size. METHOD 2 is Winograd's, in winograd.cuh,
// and METHOD 3 the same in one kernel but for the weights, in winograd_fused.cuh.
#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"
#include "winograd.cuh"
#include "winograd_fused.cuh"

template <typename T, int METHOD, int PW, int PH, int KB, int TW, int TH, int TK, int CB, int PAD, int PIPELINE,
          int BLOCKS>
__global__ void __launch_bounds__((PW / TW) * (PH / TH) * (KB / TK), BLOCKS)
    conv2d_nchw(T* __restrict__ out, const T* __restrict__ in, const T* __restrict__ weights, accumulator_t<T>*, long long images,
                int channels, int h, int w, int filters) {
  using Sum = accumulator_t<T>;
  constexpr int kAcross = PW / TW;             // threads along a row of pixels
  constexpr int kPixels = kAcross * (PH / TH);  // threads of one group of output channels
  constexpr int kThreads = kPixels * (KB / TK);
  static_assert(PW % TW == 0 && PH % TH == 0 && KB % TK == 0, "the thread tile divides the block tile");
  static_assert(kThreads <= 1024, "at most 1024 threads per block");

  // Blocks with the same pixels follow each other.
  const unsigned tiles_k = static_cast<unsigned>((filters + KB - 1) / KB);
  const unsigned tiles_x = static_cast<unsigned>((w + PW - 1) / PW);
  const unsigned tiles_y = static_cast<unsigned>((h + PH - 1) / PH);
  unsigned block = blockIdx.x;
  const int k0 = static_cast<int>(block % tiles_k) * KB;
  block /= tiles_k;
  const int x0 = static_cast<int>(block % tiles_x) * PW;
  block /= tiles_x;
  const int y0 = static_cast<int>(block % tiles_y) * PH;
  const long long image = block / tiles_y;
  const long long plane = static_cast<long long>(h) * w;

  const int pixel = threadIdx.x % kPixels;
  const int thread_k = threadIdx.x / kPixels;
  const int tile_x = pixel % kAcross * TW;
  const int tile_y = pixel / kAcross * TH;

  if constexpr (METHOD == 0) {
    static_assert(TW == 1 && TH == 1 && TK == 1, "one result per thread");
    const int x = x0 + tile_x;
    const int y = y0 + tile_y;
    const int k = k0 + thread_k;
    if (x >= w || y >= h || k >= filters) return;
    Sum sum = 0;
#pragma unroll 1
    for (int c = 0; c < channels; ++c) {
      const T* from = in + (image * channels + c) * plane;
      const T* weight = weights + (static_cast<long long>(k) * channels + c) * 9;
#pragma unroll
      for (int r = 0; r < 3; ++r) {
#pragma unroll
        for (int s = 0; s < 3; ++s) {
          const int from_y = y + r - 1;
          const int from_x = x + s - 1;
          if (from_y >= 0 && from_y < h && from_x >= 0 && from_x < w) {
            sum += widen(from[static_cast<long long>(from_y) * w + from_x]) * widen(weight[r * 3 + s]);
          }
        }
      }
    }
    narrow(sum, out[(image * filters + k) * plane + static_cast<long long>(y) * w + x]);
  } else if constexpr (METHOD == 1) {
    constexpr int kRead = TW % 4 == 0 ? 4 : 1;
    constexpr int kReadK = TK % 4 == 0 ? 4 : TK;
    constexpr int kSegment = round_up(TW + 2, kRead);
    constexpr int kPitch = round_up(PW + 2 + PAD, kRead);
    constexpr int kPlane = round_up((PH + 2) * kPitch, 4);
    constexpr int kPitchK = KB + 4;  // the transposing stores meet fewer banks twice
    constexpr int kPixelsSize = CB * kPlane;
    constexpr int kStage = kPixelsSize + CB * 9 * kPitchK;
    constexpr int kPlaneElements = (PH + 2) * (PW + 2);
    constexpr int kPixelLoads = (CB * kPlaneElements + kThreads - 1) / kThreads;
    constexpr int kWeightLoads = (CB * 9 * KB + kThreads - 1) / kThreads;
    static_assert(PIPELINE != 2 || sizeof(T) == sizeof(Sum), "an asynchronous copy converts nothing");

    extern __shared__ __align__(16) unsigned char shared_memory[];
    Sum* const stages = reinterpret_cast<Sum*>(shared_memory);
    const T* const in_image = in + image * channels * plane;
    const T* const block_weights = weights + static_cast<long long>(k0) * channels * 9;

    // Where a thread's elements of a stage come from, counted from the stage's first channel, and go to; -1: zero, or not the thread's.
    // The same for all stages, so it is worked out once.
    long long pixel_from[kPixelLoads];
    int pixel_to[kPixelLoads], weight_from[kWeightLoads], weight_to[kWeightLoads];
#pragma unroll
    for (int i = 0; i < kPixelLoads; ++i) {
      const int index = threadIdx.x + i * kThreads;
      const int channel = index / kPlaneElements;
      const int row = index / (PW + 2) % (PH + 2);
      const int column = index % (PW + 2);
      const int y = y0 + row - 1;
      const int x = x0 + column - 1;
      const bool inside = channel < CB && y >= 0 && y < h && x >= 0 && x < w;
      pixel_from[i] = inside ? channel * plane + static_cast<long long>(y) * w + x : -1;
      pixel_to[i] = channel < CB ? channel * kPlane + row * kPitch + column : -1;
    }
#pragma unroll
    for (int i = 0; i < kWeightLoads; ++i) {
      const int index = threadIdx.x + i * kThreads;
      const int k = index / (CB * 9);
      const int tap = index % (CB * 9);  // of all channels of the stage
      weight_from[i] = k < KB && k0 + k < filters ? k * channels * 9 + tap : -1;
      weight_to[i] = k < KB ? kPixelsSize + tap * kPitchK + k : -1;
    }

    T pixels_staged[PIPELINE == 2 ? 1 : kPixelLoads];
    T weights_staged[PIPELINE == 2 ? 1 : kWeightLoads];
    // Channels from c0 on, zero where there are none; with PIPELINE 2 straight to shared memory, else to registers.
    auto load = [&](int c0, Sum* stage) {
      const T* const from_pixels = in_image + c0 * plane;
      const T* const from_weights = block_weights + static_cast<long long>(c0) * 9;
      const bool all = c0 + CB <= channels;
#pragma unroll
      for (int i = 0; i < kPixelLoads; ++i) {
        bool valid = pixel_from[i] >= 0;
        if (!all && c0 + (static_cast<int>(threadIdx.x) + i * kThreads) / kPlaneElements >= channels) valid = false;
        if constexpr (PIPELINE == 2) {
          if (pixel_to[i] >= 0) copy_async<sizeof(T)>(stage + pixel_to[i], valid ? from_pixels + pixel_from[i] : in, valid);
        } else {
          pixels_staged[i] = T(0);
          if (valid) pixels_staged[i] = from_pixels[pixel_from[i]];
        }
      }
#pragma unroll
      for (int i = 0; i < kWeightLoads; ++i) {
        bool valid = weight_from[i] >= 0;
        if (!all && c0 + (static_cast<int>(threadIdx.x) + i * kThreads) % (CB * 9) / 9 >= channels) valid = false;
        if constexpr (PIPELINE == 2) {
          if (weight_to[i] >= 0) copy_async<sizeof(T)>(stage + weight_to[i], valid ? from_weights + weight_from[i] : weights, valid);
        } else {
          weights_staged[i] = T(0);
          if (valid) weights_staged[i] = from_weights[weight_from[i]];
        }
      }
    };
    auto store = [&](Sum* stage) {
#pragma unroll
      for (int i = 0; i < kPixelLoads; ++i) {
        if (pixel_to[i] >= 0) stage[pixel_to[i]] = widen(pixels_staged[i]);
      }
#pragma unroll
      for (int i = 0; i < kWeightLoads; ++i) {
        if (weight_to[i] >= 0) stage[weight_to[i]] = widen(weights_staged[i]);
      }
    };

    Sum sum[TK][TH][TW] = {};
    auto multiply = [&](const Sum* stage) {
      const Sum* const corner = stage + tile_y * kPitch + tile_x;
      const Sum* const my_weights = stage + kPixelsSize + thread_k * TK;
#pragma unroll 1
      for (int c = 0; c < CB; ++c) {
#pragma unroll
        for (int row = 0; row < TH + 2; ++row) {
          Sum segment[kSegment];
#pragma unroll
          for (int i = 0; i < kSegment; i += kRead) {
            const auto read = load_pack<kRead>(corner + c * kPlane + row * kPitch + i);
#pragma unroll
            for (int v = 0; v < kRead; ++v) segment[i + v] = read.element[v];
          }
#pragma unroll
          for (int r = 0; r < 3; ++r) {  // the tile's row meets the filter's row r in the result's row below
            if (row - r < 0 || row - r >= TH) continue;
#pragma unroll
            for (int s = 0; s < 3; ++s) {
#pragma unroll
              for (int k = 0; k < TK; k += kReadK) {
                const auto weight = load_pack<kReadK>(my_weights + (c * 9 + r * 3 + s) * kPitchK + k);
#pragma unroll
                for (int v = 0; v < kReadK; ++v) {
#pragma unroll
                  for (int x = 0; x < TW; ++x) sum[k + v][row - r][x] += segment[x + s] * weight.element[v];
                }
              }
            }
          }
        }
      }
    };

    if constexpr (PIPELINE == 0) {
#pragma unroll 1
      for (int c0 = 0; c0 < channels; c0 += CB) {
        load(c0, stages);
        if (c0 > 0) __syncthreads();  // everyone is done with the last channels
        store(stages);
        __syncthreads();
        multiply(stages);
      }
    } else {
      load(0, stages);
      if constexpr (PIPELINE == 1) store(stages);
      int stage = 0;
#pragma unroll 1
      for (int c0 = 0; c0 < channels; c0 += CB) {
        if constexpr (PIPELINE == 2) {
          commit_copies();
          wait_for_copies<0>();
        }
        __syncthreads();  // this stage is filled, and everyone is done with the other one
        const bool more = c0 + CB < channels;
        if (more) load(c0 + CB, stages + (stage ^ 1) * kStage);  // on its way while this stage is worked on
        multiply(stages + stage * kStage);
        stage ^= 1;
        if (PIPELINE == 1 && more) store(stages + stage * kStage);
      }
    }

    // Through shared memory to whole rows: one of each thread's channels at a time.
    constexpr int kRow = PW + (PW % 2 == 0 ? 1 : 0);
#pragma unroll
    for (int k = 0; k < TK; ++k) {
      __syncthreads();
#pragma unroll
      for (int y = 0; y < TH; ++y) {
#pragma unroll
        for (int x = 0; x < TW; ++x) stages[(thread_k * PH + tile_y + y) * kRow + tile_x + x] = sum[k][y][x];
      }
      __syncthreads();
#pragma unroll 4
      for (int index = threadIdx.x; index < KB / TK * PH * PW; index += kThreads) {
        const int x = index % PW;
        const int y = index / PW % PH;
        const int channel = k0 + index / (PW * PH) * TK + k;
        if (x0 + x < w && y0 + y < h && channel < filters) {
          narrow(stages[index / PW * kRow + x], out[(image * filters + channel) * plane + static_cast<long long>(y0 + y) * w + x0 + x]);
        }
      }
    }
  }
}
