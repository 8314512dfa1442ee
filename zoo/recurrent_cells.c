/* The element-wise part of a step of the LSTM and the ON-LSTM, compiled: the same numbers as recurrent_cells.py and
   on_lstm_cell.py, where the arrays are explained. One row of the batch is one piece of work.

Compile-time constants: REAL (float or double), DOUBLE.
*/

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(DOUBLE)
typedef int64_t integer;
#define MANTISSA 52
#define BIAS 1023
#define TERMS 14
#define LARGEST ((REAL)700)
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#else
typedef int32_t integer;
#define MANTISSA 23
#define BIAS 127
#define TERMS 7
#define LARGEST ((REAL)87)
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#endif

/* exp(x) - one, exact near 0 with one = 1. |x| is cut at LARGEST. */
static inline REAL exp_less(REAL x, REAL one) {
  const REAL shift = (REAL)1.5 * ((integer)1 << MANTISSA); /* leaves the nearest whole number in the lowest bits */
  x = x < -LARGEST ? -LARGEST : x > LARGEST ? LARGEST : x;
  REAL shifted = x * (REAL)1.4426950408889634 + shift, whole = shifted - shift;
  REAL r = (x - whole * LN2_HIGH) - whole * LN2_LOW, sum = 1;
#pragma GCC unroll 16
  for (int i = TERMS; i > 1; i--) sum = 1 + r * sum * ((REAL)1 / i);
  integer bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (integer)((uint64_t)bits << MANTISSA) + ((integer)BIAS << MANTISSA);
  REAL power;
  memcpy(&power, &bits, sizeof power);
  return r * sum * power + (power - one);
}

static inline REAL sigmoid(REAL x) { return 1 / (2 + exp_less(-x, 1)); }
static inline REAL hyperbolic_tangent(REAL x) {
  REAL e = exp_less(2 * x, 1);
  return e / (e + 2);
}

static void softmax(int n, REAL *x) {
  REAL largest = x[0], total = 0;
  for (int i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
#pragma omp simd
  for (int i = 0; i < n; i++) x[i] = exp_less(x[i] - largest, 0);
  for (int i = 0; i < n; i++) total += x[i];
  for (int i = 0; i < n; i++) x[i] /= total;
}

/* LSTM. The gates i, f, g, o lie one after the other. */

static void lstm_forward_row(int d, REAL *restrict gates, const REAL *restrict before, REAL *restrict after, REAL *restrict hidden) {
#pragma omp simd
  for (int u = 0; u < d; u++) {
    REAL in = sigmoid(gates[u]), forget = sigmoid(gates[d + u]);
    REAL candidate = hyperbolic_tangent(gates[2 * d + u]), out = sigmoid(gates[3 * d + u]);
    REAL cell = forget * before[u] + in * candidate;
    gates[u] = in, gates[d + u] = forget, gates[2 * d + u] = candidate, gates[3 * d + u] = out;
    after[u] = cell, hidden[u] = out * hyperbolic_tangent(cell);
  }
}

static void lstm_backward_row(int d, const REAL *restrict gates, const REAL *restrict before, const REAL *restrict after,
                              const REAL *restrict grad, REAL *restrict grad_cells, REAL *restrict grad_sums) {
#pragma omp simd
  for (int u = 0; u < d; u++) {
    REAL in = gates[u], forget = gates[d + u], candidate = gates[2 * d + u], out = gates[3 * d + u];
    REAL output = hyperbolic_tangent(after[u]);
    REAL cell = grad_cells[u] + grad[u] * out * (1 - output * output);
    grad_sums[u] = cell * candidate * in * (1 - in);
    grad_sums[d + u] = cell * before[u] * forget * (1 - forget);
    grad_sums[2 * d + u] = cell * in * (1 - candidate * candidate);
    grad_sums[3 * d + u] = grad[u] * output * out * (1 - out);
    grad_cells[u] = cell * forget;
  }
}

/* Step t: gates [n, B, 4d], cells [n+1, B, d], hidden [n+1, B, d] with rows that begin `stride` apart. */
void lstm_forward(int t, int batch, int d, REAL *gates, REAL *cells, REAL *hidden, int64_t stride, int threads) {
  int64_t row = (int64_t)t * batch;
#pragma omp parallel for num_threads(threads)
  for (int64_t s = row; s < row + batch; s++)
    lstm_forward_row(d, gates + s * 4 * d, cells + s * d, cells + (s + batch) * d, hidden + (s + batch) * stride);
}

/* grad [B, d] with rows that begin `stride` apart, grad_cells [B, d]: of the cells after the step, then before it. */
void lstm_backward(int t, int batch, int d, const REAL *gates, const REAL *cells, REAL *grad_cells, REAL *grad_sums,
                   const REAL *grad, int64_t stride, int threads) {
  int64_t row = (int64_t)t * batch;
#pragma omp parallel for num_threads(threads)
  for (int64_t b = 0; b < batch; b++)
    lstm_backward_row(d, gates + (row + b) * 4 * d, cells + (row + b) * d, cells + (row + batch + b) * d, grad + b * stride,
                      grad_cells + b * d, grad_sums + (row + b) * 4 * d);
}

/* ON-LSTM with p levels of q units. The levels' probabilities of the master input and forget gate and the gates o, g, i, f lie
   one after the other. reverse: whether the master input gate is the reverse cumax, else 1 - cumax. */

/* The master gates of each unit [p*q], from the levels' probabilities. */
static void masters(int p, int q, int reverse, const REAL *levels, REAL *restrict input, REAL *restrict forget) {
  REAL kept = 0, added = 0;
  for (int k = 0; k < p; k++) {
    REAL earlier = added;
    added += levels[k], kept += levels[p + k];
    for (int j = k * q; j < k * q + q; j++) input[j] = 1 - (reverse ? earlier : added), forget[j] = kept;
  }
}

static void on_lstm_forward_row(int p, int q, int reverse, REAL *restrict levels, const REAL *restrict before, REAL *restrict after,
                                REAL *restrict hidden) {
  int d = p * q;
  REAL *restrict gates = levels + 2 * p, input[d], kept[d];
  softmax(p, levels), softmax(p, levels + p);
  masters(p, q, reverse, levels, input, kept);
#pragma omp simd
  for (int u = 0; u < d; u++) {
    REAL out = sigmoid(gates[u]), candidate = hyperbolic_tangent(gates[d + u]);
    REAL in = sigmoid(gates[2 * d + u]), forget = sigmoid(gates[3 * d + u]);
    REAL cell = kept[u] * (1 - input[u] * (1 - forget)) * before[u] + input[u] * (1 - kept[u] * (1 - in)) * candidate;
    gates[u] = out, gates[d + u] = candidate, gates[2 * d + u] = in, gates[3 * d + u] = forget;
    after[u] = cell, hidden[u] = out * hyperbolic_tangent(cell);
  }
}

/* The sums' gradient from that of the levels' probabilities, which it replaces. */
static void softmax_backward(int p, const REAL *restrict levels, REAL *restrict grad) {
  REAL mean = 0;
  for (int k = 0; k < p; k++) mean += levels[k] * grad[k];
  for (int k = 0; k < p; k++) grad[k] = levels[k] * (grad[k] - mean);
}

static REAL sum(int n, const REAL *x) {
  REAL total = 0;
  for (int i = 0; i < n; i++) total += x[i];
  return total;
}

static void on_lstm_backward_row(int p, int q, int reverse, const REAL *restrict levels, const REAL *restrict before,
                                 const REAL *restrict after, const REAL *restrict grad, const REAL *grad_levels,
                                 REAL *restrict grad_cells, REAL *restrict grad_sums) {
  int d = p * q;
  const REAL *restrict gates = levels + 2 * p;
  REAL *restrict found = grad_sums + 2 * p, input[d], kept[d];
  masters(p, q, reverse, levels, input, kept);
#pragma omp simd
  for (int u = 0; u < d; u++) {
    REAL out = gates[u], candidate = gates[d + u], in = gates[2 * d + u], forget = gates[3 * d + u];
    REAL output = hyperbolic_tangent(after[u]);
    REAL cell = grad_cells[u] + grad[u] * out * (1 - output * output);
    REAL old = cell * before[u], new = cell * candidate, both = input[u] * kept[u];
    REAL keep = 1 - input[u] * (1 - forget), write = 1 - kept[u] * (1 - in);
    found[u] = grad[u] * output * out * (1 - out);
    found[d + u] = cell * input[u] * write * (1 - candidate * candidate);
    found[2 * d + u] = new * both * in * (1 - in);
    found[3 * d + u] = old * both * forget * (1 - forget);
    grad_cells[u] = cell * kept[u] * keep;
    REAL of_input = new * write - old * kept[u] * (1 - forget);
    kept[u] = old * keep - new * input[u] * (1 - in);
    input[u] = of_input;
  }
  REAL *of_input = grad_sums, *of_forget = grad_sums + p;
  REAL kept_above = 0, input_above = 0;
  for (int k = p - 1; k >= 0; k--) {
    REAL here = sum(q, input + k * q);
    of_forget[k] = kept_above += sum(q, kept + k * q);
    of_input[k] = reverse ? -input_above : -(input_above + here);
    input_above += here;
  }
  if (grad_levels)
    for (int k = 0; k < p; k++) of_input[k] += grad_levels[0] * k / p, of_forget[k] += grad_levels[1] * k / p;
  softmax_backward(p, levels, of_input), softmax_backward(p, levels + p, of_forget);
}

/* As for the LSTM, with gates [n, B, 2p + 4pq]. */
void on_lstm_forward(int t, int batch, int p, int q, int reverse, REAL *gates, REAL *cells, REAL *hidden, int64_t stride, int threads) {
  int64_t row = (int64_t)t * batch, d = (int64_t)p * q, width = 2 * p + 4 * d;
#pragma omp parallel for num_threads(threads)
  for (int64_t s = row; s < row + batch; s++)
    on_lstm_forward_row(p, q, reverse, gates + s * width, cells + s * d, cells + (s + batch) * d, hidden + (s + batch) * stride);
}

/* grad_levels [n, B, 2] of the means that `levels` of on_lstm_cell.py gives, or NULL. */
void on_lstm_backward(int t, int batch, int p, int q, int reverse, const REAL *gates, const REAL *cells, REAL *grad_cells,
                      REAL *grad_sums, const REAL *grad_levels, const REAL *grad, int64_t stride, int threads) {
  int64_t row = (int64_t)t * batch, d = (int64_t)p * q, width = 2 * p + 4 * d;
#pragma omp parallel for num_threads(threads)
  for (int64_t b = 0; b < batch; b++) {
    int64_t s = row + b;
    on_lstm_backward_row(p, q, reverse, gates + s * width, cells + s * d, cells + (s + batch) * d, grad + b * stride,
                         grad_levels ? grad_levels + 2 * s : NULL, grad_cells + b * d, grad_sums + s * width);
  }
}
