/* What a C programmer would tune by hand: programs that are bound by memory, in one pass, with
   OpenMP and stores that leave the caches alone where results are larger than those.

   Results go to memory that the caller keeps. Each loop runs over blocks that fit the first
   cache: a block is computed there, for which the compiler writes vectors, and then put out. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { BLOCK = 1024 };  /* elements */

/* Copy a block out; past the caches when `stream` says so and the target is aligned. */
static void put(void *target, const void *block, size_t bytes, int stream) {
#ifdef __AVX512F__
    if (stream && ((uintptr_t)target & 63) == 0) {
        size_t whole = bytes / 64;
        for (size_t i = 0; i < whole; i++)
            _mm512_stream_si512((__m512i *)target + i, _mm512_load_si512((const __m512i *)block + i));
        memcpy((char *)target + whole * 64, (const char *)block + whole * 64, bytes % 64);
        return;
    }
#endif
    memcpy(target, block, bytes);
}

#define EACH_BLOCK(n, step) \
    _Pragma("omp parallel for schedule(static)") \
    for (ptrdiff_t at = 0; at < (n); at += (step))
#define LENGTH(n, step) ((n) - at < (step) ? (n) - at : (step))
#define ROOM(type, name, length) type name[length] __attribute__((aligned(64)))

void chain(const double *restrict a, const double *restrict b, const double *restrict c,
           double *restrict out, ptrdiff_t n, int stream) {
    EACH_BLOCK(n, BLOCK) {
        ROOM(double, block, BLOCK);
        ptrdiff_t length = LENGTH(n, BLOCK);
        for (ptrdiff_t i = 0; i < length; i++) {
            double x = a[at + i], y = b[at + i];
            block[i] = (x * y + c[at + i]) * (x - y) + 1.0;
        }
        put(out + at, block, length * sizeof *out, stream);
    }
}

void adam(const float *restrict gradient, const float *restrict first,
          const float *restrict second, const float *restrict weights, float *restrict stepped,
          float *restrict new_first, float *restrict new_second, ptrdiff_t n, int stream) {
    EACH_BLOCK(n, BLOCK) {
        ROOM(float, w, BLOCK);
        ROOM(float, f, BLOCK);
        ROOM(float, s, BLOCK);
        ptrdiff_t length = LENGTH(n, BLOCK);
        for (ptrdiff_t i = 0; i < length; i++) {
            float g = gradient[at + i];
            f[i] = 0.9f * first[at + i] + 0.1f * g;
            s[i] = 0.999f * second[at + i] + 0.001f * g * g;
            float step = 0.001f * (f[i] / 0.19f) / (sqrtf(s[i] / 0.002f) + 1e-8f);
            w[i] = weights[at + i] - step;
        }
        put(stepped + at, w, length * sizeof *w, stream);
        put(new_first + at, f, length * sizeof *f, stream);
        put(new_second + at, s, length * sizeof *s, stream);
    }
}

void tone_map(const uint8_t *restrict photo, const float *restrict gain, uint8_t *restrict out,
              ptrdiff_t n, int stream) {
    enum { PIXELS = 3 * 1024 };
    ROOM(float, gains, PIXELS);
    for (int i = 0; i < PIXELS; i++) gains[i] = gain[i % 3];
    EACH_BLOCK(n, PIXELS) {
        ROOM(uint8_t, block, PIXELS);
        ptrdiff_t length = LENGTH(n, PIXELS);
        for (ptrdiff_t i = 0; i < length; i++) {
            float light = photo[at + i] * gains[i];
            float toned = light / (1.0f + light) * 255.0f + 0.5f;
            toned = toned < 0.0f ? 0.0f : toned;
            block[i] = (uint8_t)(toned > 255.0f ? 255.0f : toned);
        }
        put(out + at, block, length, stream);
    }
}

void layer_norm(const float *restrict x, const float *restrict gain, const float *restrict bias,
                float *restrict out, ptrdiff_t rows, ptrdiff_t columns, int stream) {
    _Pragma("omp parallel for schedule(static)")
    for (ptrdiff_t row = 0; row < rows; row++) {
        const float *from = x + row * columns;
        float sum = 0.0f, squares = 0.0f;
        _Pragma("omp simd reduction(+ : sum)")
        for (ptrdiff_t i = 0; i < columns; i++) sum += from[i];
        float mean = sum / columns;
        _Pragma("omp simd reduction(+ : squares)")
        for (ptrdiff_t i = 0; i < columns; i++) squares += (from[i] - mean) * (from[i] - mean);
        float scale = 1.0f / sqrtf(squares / columns + 1e-5f);
        for (ptrdiff_t at = 0; at < columns; at += BLOCK) {
            ROOM(float, block, BLOCK);
            ptrdiff_t length = LENGTH(columns, BLOCK);
            for (ptrdiff_t i = 0; i < length; i++)
                block[i] = (from[at + i] - mean) * scale * gain[at + i] + bias[at + i];
            put(out + row * columns + at, block, length * sizeof *out, stream);
        }
    }
}

void standardize(const double *restrict x, double *restrict out, ptrdiff_t rows, int stream) {
    enum { COLUMNS = 16, STEP = BLOCK / COLUMNS };
    double mean[COLUMNS] = {0}, scale[COLUMNS] = {0};
    _Pragma("omp parallel for schedule(static) reduction(+ : mean)")
    for (ptrdiff_t row = 0; row < rows; row++)
        for (int i = 0; i < COLUMNS; i++) mean[i] += x[row * COLUMNS + i];
    for (int i = 0; i < COLUMNS; i++) mean[i] /= rows;
    _Pragma("omp parallel for schedule(static) reduction(+ : scale)")
    for (ptrdiff_t row = 0; row < rows; row++)
        for (int i = 0; i < COLUMNS; i++) {
            double centred = x[row * COLUMNS + i] - mean[i];
            scale[i] += centred * centred;
        }
    for (int i = 0; i < COLUMNS; i++) scale[i] = sqrt(scale[i] / rows);
    EACH_BLOCK(rows, STEP) {
        ROOM(double, block, BLOCK);
        ptrdiff_t length = LENGTH(rows, STEP);
        for (ptrdiff_t row = 0; row < length; row++)
            for (int i = 0; i < COLUMNS; i++)
                block[row * COLUMNS + i] = (x[(at + row) * COLUMNS + i] - mean[i]) / scale[i];
        put(out + at * COLUMNS, block, length * COLUMNS * sizeof *out, stream);
    }
}

/* Steps between two arrays; the last is in `out`. Both get the border. */
void heat(const double *restrict u, double *restrict out, double *restrict other, ptrdiff_t n,
          int steps) {
    size_t row_bytes = n * sizeof *u;
    const double *from = u;
    for (int step = 0; step < steps; step++) {
        double *to = (steps - step) % 2 ? out : other;
        memcpy(to, u, row_bytes);
        memcpy(to + (n - 1) * n, u + (n - 1) * n, row_bytes);
        _Pragma("omp parallel for schedule(static)")
        for (ptrdiff_t row = 1; row < n - 1; row++) {
            const double *restrict old = from + row * n;
            double *restrict new = to + row * n;
            new[0] = u[row * n];
            new[n - 1] = u[row * n + n - 1];
            for (ptrdiff_t i = 1; i < n - 1; i++) {
                double around = old[i - n] + old[i + n] + old[i - 1] + old[i + 1];
                new[i] = old[i] + 0.1 * (around - 4.0 * old[i]);
            }
        }
        from = to;
    }
}
