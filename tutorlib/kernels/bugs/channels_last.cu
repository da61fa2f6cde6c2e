// NCHW to NHWC for one image: y (P, C) from x (C, P), P = height * width, of any size.
constexpr int T = 32, ROWS = 8;

extern "C" __global__ void __launch_bounds__(T * ROWS)
channels_last(const float *x, float *y, int channels, int pixels) {
  __shared__ float tile[T][T];
  const int channel = blockIdx.y * T, pixel = blockIdx.x * T;
  const int t = threadIdx.x;

  for (int r = threadIdx.y; r < T; r += ROWS)
    if (channel + r < channels && pixel + t < pixels)
      tile[r][t] = x[(size_t)(channel + r) * pixels + pixel + t];
  __syncthreads();

  for (int r = threadIdx.y; r < T; r += ROWS)
    if (pixel + r < pixels && channel + t < channels)
      y[(size_t)(pixel + r) * channels + channel + t] = tile[t][r];
}
