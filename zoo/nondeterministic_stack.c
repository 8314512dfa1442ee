/* The nondeterministic stack, compiled: the same numbers as stack_recursion.py, arranged for a processor.

Each vector lane is one sequence; a group of LANES sequences is worked through from beginning to end by one thread. A pop is
followed backwards from the step that pops to the step that opened the level, so that a level is remembered by the symbol
under it and two states only (S*Q*Q numbers for a pair of times), and all numbers are probabilities of the past given the
present configuration. Each target configuration has its own scale; only log-probabilities of configurations are logs.

Compile-time constants: REAL (float or double), LANES, Q (states), S (symbols), M (vector size).
Per group and step l the forward pass keeps: rho, psi (came by replace, by push), kappa (came by a pop that closed the level
opened at time k), H (weight from time l in a configuration to the pop of this step), alpha, pop scale, x (expected top vector).
*/

#pragma GCC optimize "no-tree-vectorize" /* all vectors are written out; more of them only spill registers */

#include <omp.h>
#include <stdint.h>
#include <string.h>

#define A (Q * S)
#define C (2 * A + Q)
#define NEVER ((REAL)-1e30)

typedef REAL vec __attribute__((vector_size(LANES * sizeof(REAL))));
#if defined(DOUBLE)
typedef int64_t ivec __attribute__((vector_size(LANES * sizeof(int64_t))));
#define MANTISSA 52
#define BIAS 1023
#define EXP_TERMS 13
#define LOG_TERMS 12
#define LOWEST ((REAL)-700)
#define TINY 2.3e-308
#else
typedef int32_t ivec __attribute__((vector_size(LANES * sizeof(int32_t))));
#define MANTISSA 23
#define BIAS 127
#define EXP_TERMS 7
#define LOG_TERMS 5
#define LOWEST ((REAL)-87)
#define TINY 1.2e-38f
#endif

static inline vec all(REAL x) { return x - (vec){0}; }
static inline vec choose(ivec mask, vec a, vec b) { return (vec)(((ivec)a & mask) | ((ivec)b & ~mask)); }
static inline vec larger(vec a, vec b) { return choose(a > b, a, b); }

/* exp(x) for x <= 88; 0 below LOWEST. */
static inline vec vexp(vec x) {
  ivec none = x < all(LOWEST);
  x = choose(none, all(LOWEST), x);
  vec scaled = x * (REAL)1.4426950408889634;
  ivec k = __builtin_convertvector(scaled + choose(scaled < all(0), all((REAL)-0.5), all((REAL)0.5)), ivec);
  vec whole = __builtin_convertvector(k, vec);
#if defined(DOUBLE)
  vec r = (x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
#else
  vec r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
#endif
  vec sum = all(1);
  for (int i = EXP_TERMS; i > 0; i--) sum = 1 + r * sum * ((REAL)1 / i);
  vec power = (vec)((k + BIAS) << MANTISSA);
  return choose(none, all(0), sum * power);
}

/* log(x) for normal positive x. */
static inline vec vlog(vec x) {
  ivec bits = (ivec)x;
  ivec exponent = (bits >> MANTISSA) - BIAS;
  vec m = (vec)((bits & ((((ivec){0} + 1) << MANTISSA) - 1)) | (((ivec){0} + BIAS) << MANTISSA));
  ivec high = m > all((REAL)1.4142135623730951);
  m = choose(high, m * (REAL)0.5, m);
  exponent = exponent - high; /* a true comparison is -1 */
  vec s = (m - 1) / (m + 1), square = s * s, sum = all(0);
  for (int i = LOG_TERMS; i > 0; i--) sum = square * (sum + (REAL)1 / (2 * i + 1));
  vec whole = __builtin_convertvector(exponent, vec);
  return whole * (REAL)0.6931471805599453 + 2 * s * (1 + sum);
}

/* log(exp(a) + exp(b)) */
static inline vec vlogadd(vec a, vec b) {
  vec high = larger(a, b);
  return high + vlog(vexp(a - high) + vexp(b - high));
}

#define INLINE static inline __attribute__((always_inline))

/* Configurations are numbered state * S + symbol outside; here the symbol comes first, since a pop leaves it as it is. */
typedef struct { vec v[S][S][Q][Q]; } moves; /* symbol from, symbol to, state from, state to */
typedef struct { vec v[S][Q][Q]; } closes;   /* symbol, state when opened (kappa) or now (H), state after the pop */
typedef struct { vec v[S][Q]; } each;
typedef struct { vec v[S][Q][M]; } tops;

/* What a group's forward pass keeps of n steps. Times run from 0 to n. `row` is the walk of the present step. */
typedef struct {
  int n;
  moves *rho, *psi;
  each *alpha, *scale, *lam;
  tops *x;
  closes *pop, *row, *kappa, *h;
} chart;

/* What of it stays in memory until the backward pass; the rest is computed again there. */
enum { NOTHING, ALL_BUT_H, ALL };

static inline int64_t pairs(int n) { return n > 1 ? (int64_t)n * (n - 1) / 2 : 0; }

static int64_t chart_bytes(int n, int with_h) {
  return (n + 1) * (int64_t)(2 * sizeof(moves) + 2 * sizeof(each) + sizeof(tops) + 2 * sizeof(closes)) + sizeof(each) +
         (with_h ? 2 : 1) * pairs(n) * sizeof(closes);
}

static chart lay_out(REAL *memory, int n, int with_h) {
  chart c;
  char *p = (char *)memory;
  c.n = n;
  c.rho = (moves *)p, p += (n + 1) * sizeof(moves);
  c.psi = (moves *)p, p += (n + 1) * sizeof(moves);
  c.alpha = (each *)p, p += (n + 1) * sizeof(each);
  c.scale = (each *)p, p += (n + 1) * sizeof(each);
  c.lam = (each *)p, p += sizeof(each);
  c.x = (tops *)p, p += (n + 1) * sizeof(tops);
  c.pop = (closes *)p, p += (n + 1) * sizeof(closes);
  c.row = (closes *)p, p += (n + 1) * sizeof(closes);
  c.kappa = (closes *)p, p += pairs(n) * sizeof(closes);
  c.h = with_h ? (closes *)p : 0;
  return c;
}

/* Pairs of times k = 0 .. n - 2 and l >= k + 2: for one k, l runs on in memory. kappa of the level opened at k and closed at
   l is at since(kappa, n, k)[l]; H of the walk from the pop of step j, at time l < j, at since(h, n, l - 1)[j]. */
INLINE closes *since(closes *all, int n, int k) { return all + (int64_t)k * (n - 1) - (int64_t)k * (k - 1) / 2 - (k + 2); }

/* Not memset and memcpy: those would keep the sums of inner loops in memory. */
INLINE void clear(vec sum[Q][Q]) {
#pragma GCC unroll 8
  for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++) sum[i][r] = all(0);
}
INLINE void put(vec to[Q][Q], const vec sum[Q][Q]) {
#pragma GCC unroll 8
  for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++) to[i][r] = sum[i][r];
}
INLINE void put_tops(vec to[Q][M], const vec sum[Q][M]) {
#pragma GCC unroll 8
  for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
    for (int m = 0; m < M; m++) to[i][m] = sum[i][m];
}

/* sum += a b, a^T b, a b^T */
INLINE void product(vec sum[Q][Q], const vec a[Q][Q], const vec b[Q][Q]) {
#pragma GCC unroll 8
  for (int m = 0; m < Q; m++)
#pragma GCC unroll 8
    for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
      for (int r = 0; r < Q; r++) sum[i][r] += a[i][m] * b[m][r];
}
INLINE void product_first_turned(vec sum[Q][Q], const vec a[Q][Q], const vec b[Q][Q]) {
#pragma GCC unroll 8
  for (int m = 0; m < Q; m++)
#pragma GCC unroll 8
    for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
      for (int r = 0; r < Q; r++) sum[i][r] += a[m][i] * b[m][r];
}
INLINE void product_second_turned(vec sum[Q][Q], const vec a[Q][Q], const vec b[Q][Q]) {
#pragma GCC unroll 8
  for (int m = 0; m < Q; m++)
#pragma GCC unroll 8
    for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
      for (int r = 0; r < Q; r++) sum[i][r] += a[i][m] * b[r][m];
}

/* sum += a b, for Q x Q and Q x M, and for the transpose of the first */
INLINE void carry(vec sum[Q][M], const vec a[Q][Q], const vec b[Q][M]) {
#pragma GCC unroll 8
  for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
      for (int m = 0; m < M; m++) sum[i][m] += a[i][r] * b[r][m];
}
INLINE void carry_turned(vec sum[Q][M], const vec a[Q][Q], const vec b[Q][M]) {
#pragma GCC unroll 8
  for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
    for (int i = 0; i < Q; i++)
#pragma GCC unroll 8
      for (int m = 0; m < M; m++) sum[i][m] += a[r][i] * b[r][m];
}

/* The stack before the first step. */
static void begin_group(chart c, const REAL *bottom) {
  for (int y = 0; y < S; y++)
    for (int t = 0; t < Q; t++) {
      int first = !y && !t;
      c.lam->v[y][t] = all(first ? 0 : NEVER), c.alpha[0].v[y][t] = all(first);
      for (int m = 0; m < M; m++) c.x[0].v[y][t][m] = all(first ? bottom[m] : 0);
    }
}

/* Log weights of each configuration with each transition out of it. A lane with active[lane] == 0 keeps its stack. */
INLINE void read_step(vec joint[A][C], const each *lam, int64_t row, const int *active, const REAL **logits) {
  for (int a = 0; a < A; a++)
    for (int i = 0; i < C; i++) {
      vec value;
      for (int lane = 0; lane < LANES; lane++)
        value[lane] = active[lane] ? logits[lane][row * A * C + a * C + i] : i == A + a ? 0 : NEVER;
      joint[a][i] = lam->v[a % S][a / S] + choose(value < all(NEVER), all(NEVER), value);
    }
}

/* Weights by push and replace, scaled for each target: psi and rho before they are normalised. */
INLINE void weigh_moves(const vec joint[A][C], moves *rho, moves *psi, each *scale, each *log_total) {
  for (int to = 0; to < A; to++) {
    int y2 = to % S, t2 = to / S;
    vec high = larger(joint[0][to], joint[0][A + to]), sum = all(0);
    for (int from = 1; from < A; from++) high = larger(high, larger(joint[from][to], joint[from][A + to]));
    for (int from = 0; from < A; from++) {
      vec push = vexp(joint[from][to] - high), replace = vexp(joint[from][A + to] - high);
      psi->v[from % S][y2][from / S][t2] = push, rho->v[from % S][y2][from / S][t2] = replace;
      sum += push + replace;
    }
    scale->v[y2][t2] = high, log_total->v[y2][t2] = high + vlog(sum);
  }
}

/* Weights by pop, scaled for each state after it: where the walk of this step begins. */
INLINE void weigh_pops(const vec joint[A][C], closes *pop, vec scale[Q]) {
  for (int r = 0; r < Q; r++) {
    scale[r] = joint[0][2 * A + r];
    for (int from = 1; from < A; from++) scale[r] = larger(scale[r], joint[from][2 * A + r]);
    for (int from = 0; from < A; from++) pop->v[from % S][from / S][r] = vexp(joint[from][2 * A + r] - scale[r]);
  }
}

/* H: the walk from the pop of step j back to time 1, in c.row and, where there is room, in c.h. */
static __attribute__((noinline)) void walk(chart c, int j) {
  int n = c.n;
  closes *h = c.row;
  h[j - 1] = c.pop[j];
  for (int k = j - 2; k >= 1; k--) {
    const closes *kappa = since(c.kappa, n, k);
    for (int y = 0; y < S; y++) {
      vec sum[Q][Q];
      clear(sum);
      for (int y2 = 0; y2 < S; y2++) product(sum, c.rho[k + 1].v[y][y2], h[k + 1].v[y2]);
      for (int l = k + 2; l < j; l++) product(sum, kappa[l].v[y], h[l].v[y]);
      put(h[k].v[y], sum);
    }
  }
  if (c.h)
    for (int k = 1; k < j; k++) since(c.h, n, k - 1)[j] = h[k];
}

/* Openings: push at k + 1, then the walk to the pop. Unscaled in kappa for now; their sums for each target. */
INLINE void open_levels(chart c, int j, each *pop_sum) {
  for (int k = 0; k <= j - 2; k++) {
    closes *close = since(c.kappa, c.n, k) + j;
    for (int y = 0; y < S; y++) {
      vec sum[Q][Q];
      clear(sum);
      for (int y2 = 0; y2 < S; y2++) product(sum, c.psi[k + 1].v[y][y2], c.row[k + 1].v[y2]);
      put(close->v[y], sum);
      for (int t = 0; t < Q; t++)
        for (int r = 0; r < Q; r++) pop_sum->v[y][r] += sum[t][r];
    }
  }
}

/* Factors that make rho, psi and kappa of step j probabilities of the last move given the configuration; lam, alpha. */
INLINE void normalise(chart c, int j, const each *keep_scale, const vec pop_scale[Q], const each *pop_sum, each *log_total) {
  vec high = all(NEVER * 4), sum = all(0);
  for (int y = 0; y < S; y++)
    for (int r = 0; r < Q; r++) {
      vec *total = &log_total->v[y][r], factor = all(0);
      if (j > 1) {
        ivec possible = pop_sum->v[y][r] > all(TINY);
        vec closed = choose(possible, pop_scale[r] + vlog(larger(pop_sum->v[y][r], all(TINY))), all(NEVER));
        *total = vlogadd(*total, closed);
        /* exp of up to 88 or 700 only, which `possible` ensures */
        factor = choose(possible, vexp(choose(possible, pop_scale[r] - *total, all(0))), all(0));
      }
      c.scale[j].v[y][r] = factor;
      vec keep = vexp(keep_scale->v[y][r] - *total);
      for (int from = 0; from < A; from++) {
        c.rho[j].v[from % S][y][from / S][r] *= keep;
        c.psi[j].v[from % S][y][from / S][r] *= keep;
      }
      high = larger(high, *total);
    }
  for (int a = 0; a < A; a++) sum += vexp(log_total->v[a % S][a / S] - high);
  vec norm = high + vlog(sum);
  for (int y = 0; y < S; y++)
    for (int t = 0; t < Q; t++) {
      c.lam->v[y][t] = larger(log_total->v[y][t] - norm, all(NEVER));
      c.alpha[j].v[y][t] = vexp(c.lam->v[y][t]);
    }
}

INLINE void read_vector(vec vector[M], int64_t row, const REAL **vectors) {
  for (int m = 0; m < M; m++)
    for (int lane = 0; lane < LANES; lane++) vector[m][lane] = vectors[lane][row * M + m];
}

/* Probability that configuration (y, r) of a step came by a push. */
INLINE vec by_push(const moves *psi, int y, int r) {
  vec sum = all(0);
  for (int from = 0; from < A; from++) sum += psi->v[from % S][y][from / S][r];
  return sum;
}

/* Expected top vectors after step j; kappa gets its scale. */
INLINE void expect(chart c, int j, const vec vector[M]) {
  for (int y = 0; y < S; y++) {
    vec sum[Q][M];
    for (int r = 0; r < Q; r++) {
      vec pushed = by_push(c.psi + j, y, r);
      for (int m = 0; m < M; m++) sum[r][m] = pushed * vector[m];
    }
    for (int y2 = 0; y2 < S; y2++) carry_turned(sum, c.rho[j].v[y2][y], c.x[j - 1].v[y2]);
    for (int k = 0; k <= j - 2; k++) {
      closes *close = since(c.kappa, c.n, k) + j;
      for (int t = 0; t < Q; t++)
        for (int r = 0; r < Q; r++) close->v[y][t][r] *= c.scale[j].v[y][r];
      carry_turned(sum, close->v[y], c.x[k].v[y]);
    }
    put_tops(c.x[j].v[y], sum);
  }
}

/* Step j of n. The step's logits and vectors are row `row` of the lane's. */
static __attribute__((noinline)) void forward_step(chart c, int j, int64_t row, const int *active, const REAL **logits,
                                                   const REAL **vectors) {
  vec joint[A][C], vector[M], pop_scale[Q];
  each keep_scale, log_total, pop_sum;
  read_step(joint, c.lam, row, active, logits);
  read_vector(vector, row, vectors);
  weigh_moves(joint, c.rho + j, c.psi + j, &keep_scale, &log_total);
  memset(&pop_sum, 0, sizeof pop_sum);
  if (j > 1) { /* the bottom is never popped */
    weigh_pops(joint, c.pop + j, pop_scale);
    walk(c, j);
    open_levels(c, j, &pop_sum);
  }
  normalise(c, j, &keep_scale, pop_scale, &pop_sum, &log_total);
  expect(c, j, vector);
}

static void write_reading(chart c, int j, int64_t row, int lanes, REAL **readings) {
  for (int a = 0; a < A; a++)
    for (int m = 0; m < M; m++) {
      vec value = c.alpha[j].v[a % S][a / S] * c.x[j].v[a % S][a / S][m];
      for (int lane = 0; lane < lanes; lane++) readings[lane][row * A * M + a * M + m] = value[lane];
    }
}

/* Gradients, each named after what it belongs to. Nothing is added to from step to step, so nothing need be zero at first:
   a step collects what it needs from the steps after it. kappa at (k, j) is the gradient of what open_levels finds. */
typedef struct {
  each *lam;
  tops *x;
  closes *row, *kappa, *h;
} gradients;

static int64_t gradient_bytes(int n) {
  return sizeof(each) + (n + 1) * (int64_t)(sizeof(tops) + sizeof(closes)) + 2 * pairs(n) * sizeof(closes);
}

static gradients lay_out_gradients(REAL *memory, int n) {
  gradients g;
  char *p = (char *)memory;
  g.lam = (each *)p, p += sizeof(each);
  g.x = (tops *)p, p += (n + 1) * sizeof(tops);
  g.row = (closes *)p, p += (n + 1) * sizeof(closes);
  g.kappa = (closes *)p, p += pairs(n) * sizeof(closes);
  g.h = (closes *)p;
  return g;
}

/* Gradient of the expected top vectors at time k, from that of its reading and from later steps. */
INLINE void collect_tops(chart c, gradients g, int k, int last, const tops *grad) {
  const closes *kappa = since(c.kappa, c.n, k);
  for (int y = 0; y < S; y++) {
    vec sum[Q][M];
    for (int t = 0; t < Q; t++)
      for (int m = 0; m < M; m++) sum[t][m] = c.alpha[k].v[y][t] * grad->v[y][t][m];
    if (k < last)
      for (int y2 = 0; y2 < S; y2++) carry(sum, c.rho[k + 1].v[y][y2], g.x[k + 1].v[y2]);
    for (int l = k + 2; l <= last; l++) carry(sum, kappa[l].v[y], g.x[l].v[y]);
    put_tops(g.x[k].v[y], sum);
  }
}

/* Gradient of lam from that of the reading, added to the part that step j + 1 left. */
INLINE void collect_lam(chart c, gradients g, int j, int last, const tops *grad) {
  for (int y = 0; y < S; y++)
    for (int t = 0; t < Q; t++) {
      vec inner = all(0);
      for (int m = 0; m < M; m++) inner += grad->v[y][t][m] * c.x[j].v[y][t][m];
      g.lam->v[y][t] = c.alpha[j].v[y][t] * inner + (j < last ? g.lam->v[y][t] : all(0));
    }
}

/* Gradients of rho and psi of step j: from its top vectors, and from the walks of later steps that pass through it. */
INLINE void collect_moves(chart c, gradients g, int j, int last, const vec vector[M], moves *grad_rho, moves *grad_psi) {
  const closes *h = since(c.h, c.n, j - 1), *grad_close = since(g.kappa, c.n, j - 1), *grad_h = since(g.h, c.n, j - 2);
  for (int y = 0; y < S; y++)
    for (int y2 = 0; y2 < S; y2++) {
      vec replace[Q][Q], push[Q][Q];
      for (int t2 = 0; t2 < Q; t2++) {
        const vec *up = g.x[j].v[y2][t2];
        vec pushed = all(0);
        for (int m = 0; m < M; m++) pushed += up[m] * vector[m];
        for (int t = 0; t < Q; t++) {
          push[t][t2] = pushed, replace[t][t2] = all(0);
          for (int m = 0; m < M; m++) replace[t][t2] += up[m] * c.x[j - 1].v[y][t][m];
        }
      }
      for (int i = j + 1; i <= last; i++) product_second_turned(push, grad_close[i].v[y], h[i].v[y2]);
      if (j > 1) /* no walk goes back to time 0 */
        for (int i = j + 1; i <= last; i++) product_second_turned(replace, grad_h[i].v[y], h[i].v[y2]);
      put(grad_rho->v[y][y2], replace), put(grad_psi->v[y][y2], push);
    }
}

/* Gradients of kappa of step j, likewise, and their part in the normaliser. */
INLINE void collect_closes(chart c, gradients g, int j, int last, each *total) {
  const closes *h = since(c.h, c.n, j - 1);
  for (int k = 0; k <= j - 2; k++) {
    const closes *close = since(c.kappa, c.n, k) + j, *grad_h = since(g.h, c.n, k - 1);
    closes *grad_close = since(g.kappa, c.n, k) + j;
    for (int y = 0; y < S; y++) {
      vec sum[Q][Q];
      for (int t = 0; t < Q; t++)
        for (int r = 0; r < Q; r++) {
          sum[t][r] = all(0);
          for (int m = 0; m < M; m++) sum[t][r] += c.x[k].v[y][t][m] * g.x[j].v[y][r][m];
        }
      if (k)
        for (int i = j + 1; i <= last; i++) product_second_turned(sum, grad_h[i].v[y], h[i].v[y]);
      for (int t = 0; t < Q; t++)
        for (int r = 0; r < Q; r++) total->v[y][r] += sum[t][r] * close->v[y][t][r];
      put(grad_close->v[y], sum);
    }
  }
}

/* Back along the walk of step j, from the openings to the pop: gradients of what open_levels found and of H. */
INLINE void walk_back(chart c, gradients g, int j, const each *shift) {
  int n = c.n;
  closes *row = g.row;
  for (int k = 1; k < j; k++) {
    closes *opened = since(g.kappa, n, k - 1) + j;
    for (int y = 0; y < S; y++)
      for (int t = 0; t < Q; t++)
        for (int r = 0; r < Q; r++) opened->v[y][t][r] = (opened->v[y][t][r] + shift->v[y][r]) * c.scale[j].v[y][r];
    for (int y = 0; y < S; y++) {
      vec sum[Q][Q];
      clear(sum);
      for (int y2 = 0; y2 < S; y2++) product_first_turned(sum, c.psi[k].v[y2][y], opened->v[y2]);
      if (k > 1)
        for (int y2 = 0; y2 < S; y2++) product_first_turned(sum, c.rho[k].v[y2][y], row[k - 1].v[y2]);
      const closes *kappa = since(c.kappa, n, 1) + k;
      for (int l = 1; l <= k - 2; kappa += n - 2 - l, l++) product_first_turned(sum, kappa->v[y], row[l].v[y]);
      put(row[k].v[y], sum);
    }
    since(g.h, n, k - 1)[j] = row[k];
  }
}

INLINE void write_logit(vec value, REAL **grad_logits, int64_t at, int lanes, const int *active) {
  for (int lane = 0; lane < lanes; lane++) grad_logits[lane][at] = active[lane] ? value[lane] : 0;
}

/* Step j backwards in a pass that began at step `last`; `grad` is the gradient of its reading. Gradients are written to row
   `row` of the lane's. */
static __attribute__((noinline)) void backward_step(chart c, gradients g, int j, int last, int64_t row, int lanes,
                                                    const int *active, const REAL **vectors, const tops *grad,
                                                    REAL **grad_logits, REAL **grad_vectors) {
  moves grad_rho, grad_psi;
  each total, shift, grad_from;
  vec vector[M], grad_vector[M], lam_sum = all(0);
  read_vector(vector, row, vectors);
  collect_tops(c, g, j, last, grad);
  collect_lam(c, g, j, last, grad);
  collect_moves(c, g, j, last, vector, &grad_rho, &grad_psi);
  memset(&total, 0, sizeof total);
  collect_closes(c, g, j, last, &total);
  memset(grad_vector, 0, sizeof grad_vector);
  /* The normaliser. */
  for (int a = 0; a < A; a++) lam_sum += g.lam->v[a % S][a / S];
  for (int y = 0; y < S; y++)
    for (int t = 0; t < Q; t++) {
      vec pushed = by_push(c.psi + j, y, t), sum = total.v[y][t];
      for (int from = 0; from < A; from++) {
        int y0 = from % S, t0 = from / S;
        sum += grad_rho.v[y0][y][t0][t] * c.rho[j].v[y0][y][t0][t] + grad_psi.v[y0][y][t0][t] * c.psi[j].v[y0][y][t0][t];
      }
      shift.v[y][t] = g.lam->v[y][t] - sum - c.alpha[j].v[y][t] * lam_sum;
      for (int m = 0; m < M; m++) grad_vector[m] += pushed * g.x[j].v[y][t][m];
    }
  if (j > 1) walk_back(c, g, j, &shift);
  memset(&grad_from, 0, sizeof grad_from);
  for (int from = 0; from < A; from++) {
    int y = from % S, t = from / S;
    int64_t at = row * A * C + from * C;
    for (int to = 0; to < A; to++) {
      int y2 = to % S, t2 = to / S;
      vec push = c.psi[j].v[y][y2][t][t2] * (grad_psi.v[y][y2][t][t2] + shift.v[y2][t2]);
      vec replace = c.rho[j].v[y][y2][t][t2] * (grad_rho.v[y][y2][t][t2] + shift.v[y2][t2]);
      grad_from.v[y][t] += push + replace;
      write_logit(push, grad_logits, at + to, lanes, active), write_logit(replace, grad_logits, at + A + to, lanes, active);
    }
    for (int r = 0; r < Q; r++) {
      vec pop = j > 1 ? c.pop[j].v[y][t][r] * g.row[j - 1].v[y][t][r] : all(0);
      grad_from.v[y][t] += pop;
      write_logit(pop, grad_logits, at + 2 * A + r, lanes, active);
    }
  }
  *g.lam = grad_from;
  for (int m = 0; m < M; m++)
    for (int lane = 0; lane < lanes; lane++) grad_vectors[lane][row * M + m] = grad_vector[m][lane];
}

/* The lanes of a group: sequences `first` and after in `order` (or in their own order without one). Lanes beyond the batch
   repeat its last sequence, and what they find is not written. Groups do not depend on each other, nor on threads. */
typedef struct {
  int64_t sequence[LANES];
  int length[LANES], active[LANES], real, longest;
} group;

static group gather(int first, int batch, const int64_t *order, const int *lengths, int n) {
  group g = {.real = batch - first < LANES ? batch - first : LANES};
  for (int lane = 0; lane < LANES; lane++) {
    int place = first + (lane < g.real ? lane : g.real - 1);
    g.sequence[lane] = order ? order[place] : place;
    g.length[lane] = lengths ? lengths[g.sequence[lane]] : n;
    g.active[lane] = 1;
    if (g.length[lane] > g.longest) g.longest = g.length[lane];
  }
  return g;
}

/* Pointers of each lane into an array with `size` numbers a sequence. */
#define POINT(lane_pointers, array, size) \
  for (int lane = 0; lane < LANES; lane++) lane_pointers[lane] = (array) + at.sequence[lane] * (int64_t)(size)
#define EACH_GROUP for (int first = 0; first < batch; first += LANES)

int64_t stack_memory(int n, int kept) { return chart_bytes(n, kept == ALL) / sizeof(REAL); } /* of a group, in REALs */

static int64_t scratch_bytes(int n, int kept) {
  return gradient_bytes(n) + (kept < ALL ? pairs(n) * sizeof(closes) : 0) + (kept == NOTHING ? chart_bytes(n, 0) : 0);
}
int64_t stack_scratch(int n, int kept) { return scratch_bytes(n, kept) / sizeof(REAL); } /* of a thread, in REALs */

/* order [batch]: sequences by falling length, so that those of like length share a group. memory_at [groups]: where each
   group's memory begins. Returns their sum. */
int64_t stack_plan(int batch, int n, const int *lengths, int kept, int64_t *order, int64_t *memory_at) {
  int64_t sum = 0, place = 0;
  for (int length = n; length >= 0; length--)
    for (int s = 0; s < batch; s++)
      if (lengths[s] == length) order[place++] = s;
  EACH_GROUP memory_at[first / LANES] = sum, sum += stack_memory(lengths[order[first]], kept);
  return sum;
}

/* Whether within one of `steps` steps some logits lie more than `limit` apart. */
int stack_is_wide(int steps, const REAL *logits, REAL limit, int threads) {
  int wide = 0;
#pragma omp parallel for reduction(| : wide) num_threads(threads)
  for (int j = 0; j < steps; j++) {
    const REAL *step = logits + (int64_t)j * A * C;
    vec high = all(step[0]), low = high;
    int i = 0;
    for (; i + LANES <= A * C; i += LANES) {
      vec value;
      memcpy(&value, step + i, sizeof value);
      high = larger(value, high), low = choose(value < low, value, low);
    }
    for (; i < A * C; i++) high = larger(all(step[i]), high), low = choose(all(step[i]) < low, all(step[i]), low);
    for (int a = 0; a < LANES; a++)
      for (int b = 0; b < LANES; b++) wide |= high[a] - low[b] > limit;
  }
  return wide;
}

static void forward_group(chart c, group at, int n, const REAL *logits, const REAL *vectors, const REAL *bottom, REAL *readings) {
  const REAL *l[LANES], *v[LANES];
  REAL *out[LANES];
  POINT(l, logits, n * A * C);
  POINT(v, vectors, n * M);
  POINT(out, readings, (n + 1) * A * M);
  begin_group(c, bottom);
  for (int j = 0; j <= (readings ? n : at.longest); j++) {
    for (int lane = 0; lane < LANES; lane++) at.active[lane] = j <= at.length[lane];
    if (j && j <= at.longest) forward_step(c, j, j - 1, at.active, l, v);
    if (readings) write_reading(c, j < at.longest ? j : at.longest, j, at.real, out);
  }
}

static void backward_group(chart c, gradients g, group at, int n, int again, const REAL *vectors, const REAL *grad,
                           REAL *grad_logits, REAL *grad_vectors, REAL *grad_bottom) {
  const REAL *v[LANES], *up[LANES];
  REAL *dl[LANES], *dv[LANES];
  POINT(v, vectors, n * M);
  POINT(up, grad, (n + 1) * A * M);
  POINT(dl, grad_logits, n * A * C);
  POINT(dv, grad_vectors, n * M);
  tops reading;
  for (int j = at.longest; j >= 0; j--) {
    memset(&reading, 0, sizeof reading);
    /* Readings after the last step are the last one. */
    for (int later = j; later <= (j < at.longest ? j : n); later++)
      for (int i = 0; i < A * M; i++)
        for (int lane = 0; lane < at.real; lane++)
          reading.v[i / M % S][i / M / S][i % M][lane] += up[lane][(int64_t)later * A * M + i];
    if (!j) break;
    if (again && j > 1) walk(c, j);
    for (int lane = 0; lane < LANES; lane++) at.active[lane] = j <= at.length[lane];
    backward_step(c, g, j, at.longest, j - 1, at.real, at.active, v, &reading, dl, dv);
  }
  collect_tops(c, g, 0, at.longest, &reading);
  for (int lane = 0; lane < at.real; lane++) {
    int64_t rest = n - at.longest;
    memset(dl[lane] + at.longest * A * C, 0, rest * A * C * sizeof(REAL));
    memset(dv[lane] + at.longest * M, 0, rest * M * sizeof(REAL));
    for (int m = 0; m < M; m++) grad_bottom[at.sequence[lane] * M + m] = g.x[0].v[0][0][m][lane];
  }
}

/* Whole sequences of n steps. lengths: after so many steps the stack of a sequence stays as it is; a group stops at the
   longest of its own. kept: what stays in memory; where it is NOTHING, memory is that of a group for each thread. */
void stack_forward(int batch, int n, int kept, int threads, const int64_t *order, const int *lengths, const int64_t *memory_at,
                   const REAL *logits, const REAL *vectors, const REAL *bottom, REAL *readings, REAL *memory) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    group at = gather(first, batch, order, lengths, n);
    int64_t own = kept == NOTHING ? omp_get_thread_num() * stack_memory(n, kept) : memory_at[first / LANES];
    forward_group(lay_out(memory + own, at.longest, kept == ALL), at, n, logits, vectors, bottom, readings);
  }
}

/* scratch: for each thread. logits and bottom are read where nothing was kept. */
void stack_backward(int batch, int n, int kept, int threads, const int64_t *order, const int *lengths, const int64_t *memory_at,
                    const REAL *logits, const REAL *vectors, const REAL *bottom, const REAL *grad, REAL *memory, REAL *scratch,
                    REAL *grad_logits, REAL *grad_vectors, REAL *grad_bottom) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    group at = gather(first, batch, order, lengths, n);
    REAL *own = scratch + omp_get_thread_num() * stack_scratch(n, kept);
    REAL *h = own + gradient_bytes(at.longest) / sizeof(REAL), *rest = h + pairs(at.longest) * sizeof(closes) / sizeof(REAL);
    chart c = lay_out(kept == NOTHING ? rest : memory + memory_at[first / LANES], at.longest, kept == ALL);
    if (kept < ALL) c.h = (closes *)h;
    if (kept == NOTHING) forward_group(c, at, n, logits, vectors, bottom, 0);
    backward_group(c, lay_out_gradients(own, at.longest), at, n, kept == ALL_BUT_H, vectors, grad, grad_logits, grad_vectors,
                   grad_bottom);
  }
}

/* The same step by step, for at most n steps of the whole batch; every group has memory and scratch of n steps. */
#define GROUP_CHART lay_out(memory + first / LANES * stack_memory(n, ALL), n, 1)
#define GROUP_GRADIENTS lay_out_gradients(scratch + first / LANES * stack_scratch(n, ALL), n)

void stack_begin(int batch, int n, const REAL *bottom, REAL *memory) { EACH_GROUP begin_group(GROUP_CHART, bottom); }

void stack_step_forward(int batch, int n, int j, int threads, REAL *memory, const REAL *logits, const REAL *vectors,
                        REAL *reading) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    group at = gather(first, batch, 0, 0, n);
    const REAL *l[LANES], *v[LANES];
    REAL *out[LANES];
    POINT(l, logits, A * C);
    POINT(v, vectors, M);
    POINT(out, reading, A * M);
    forward_step(GROUP_CHART, j, 0, at.active, l, v);
    write_reading(GROUP_CHART, j, 0, at.real, out);
  }
}

/* Of a pass that began at step `last`. */
void stack_step_backward(int batch, int n, int j, int last, int threads, REAL *memory, REAL *scratch, const REAL *vectors,
                         const REAL *grad, REAL *grad_logits, REAL *grad_vectors) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    group at = gather(first, batch, 0, 0, n);
    const REAL *v[LANES];
    REAL *dl[LANES], *dv[LANES];
    POINT(v, vectors, M);
    POINT(dl, grad_logits, A * C);
    POINT(dv, grad_vectors, M);
    tops reading;
    memset(&reading, 0, sizeof reading);
    for (int i = 0; i < A * M; i++)
      for (int lane = 0; lane < at.real; lane++)
        reading.v[i / M % S][i / M / S][i % M][lane] = grad[at.sequence[lane] * A * M + i];
    backward_step(GROUP_CHART, GROUP_GRADIENTS, j, last, 0, at.real, at.active, v, &reading, dl, dv);
  }
}

/* Gradient [batch, M] of the bottom vector from the steps of a pass that began at step `last` and went down to step 1. */
void stack_bottom(int batch, int n, int last, REAL *memory, REAL *scratch, REAL *grad_bottom) {
  tops none;
  memset(&none, 0, sizeof none);
  EACH_GROUP {
    gradients g = GROUP_GRADIENTS;
    group at = gather(first, batch, 0, 0, n);
    collect_tops(GROUP_CHART, g, 0, last, &none);
    for (int lane = 0; lane < at.real; lane++)
      for (int m = 0; m < M; m++) grad_bottom[at.sequence[lane] * M + m] = g.x[0].v[0][0][m][lane];
  }
}
