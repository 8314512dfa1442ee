/* The nondeterministic stack, compiled: the same numbers as stack_recursion.py, arranged for a processor.

Each vector lane is one sequence; a group of LANES sequences is worked through from beginning to end by one thread. A pop is
followed backwards from the step that pops to the step that opened the level, so that a level is remembered by the symbol
under it and two states only (S*Q*Q numbers for a pair of times), and all numbers are probabilities of the past given the
present configuration. Each target configuration has its own scale; only log-probabilities of configurations are logs.

Compile-time constants: REAL (float or double), LANES, Q (states), S (symbols), M (vector size).
Per group and step l the forward pass keeps: rho, psi (came by replace, by push), kappa (came by a pop that closed the level
opened at time k), H (weight from time l in a configuration to the pop of this step), alpha, pop scale, x (expected top vector).
*/

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

typedef struct { vec v[A][A]; } moves;   /* from, to */
typedef struct { vec v[S][Q][Q]; } closes; /* symbol, state when opened (kappa) or now (H), state after the pop */
typedef struct { vec v[A]; } each;
typedef struct { vec v[A][M]; } tops;

/* Where the parts of a group's memory lie, for n steps. Times run from 0 to n. */
typedef struct {
  int n;
  moves *rho, *psi;
  each *alpha, *scale, *lam;
  tops *x;
  closes *kappa, *h;
} chart;

static inline int64_t pairs(int n) { return n > 1 ? (int64_t)n * (n - 1) / 2 : 0; }

int64_t stack_memory(int n) { /* in REALs, for one group */
  return ((int64_t)(n + 1) * (2 * sizeof(moves) + 2 * sizeof(each) + sizeof(tops)) + sizeof(each) + 2 * pairs(n) * sizeof(closes)) /
         sizeof(REAL);
}

static chart lay_out(REAL *memory, int n) {
  chart c;
  char *p = (char *)memory;
  c.n = n;
  c.rho = (moves *)p, p += (n + 1) * sizeof(moves);
  c.psi = (moves *)p, p += (n + 1) * sizeof(moves);
  c.alpha = (each *)p, p += (n + 1) * sizeof(each);
  c.scale = (each *)p, p += (n + 1) * sizeof(each);
  c.lam = (each *)p, p += sizeof(each);
  c.x = (tops *)p, p += (n + 1) * sizeof(tops);
  c.kappa = (closes *)p, p += pairs(n) * sizeof(closes);
  c.h = (closes *)p;
  return c;
}

/* kappa of the level opened at k and closed at l >= k + 2: for one k, l runs on in memory. */
static inline closes *kappa_row(closes *kappa, int n, int k) { return kappa + (int64_t)k * (n - 1) - (int64_t)k * (k - 1) / 2 - (k + 2); }
/* H of step j at time l = 1 .. j - 1. */
static inline closes *h_row(closes *h, int j) { return h + (int64_t)(j - 1) * (j - 2) / 2 - 1; }

/* The stack before the first step. */
static void begin_group(chart c, const REAL *bottom) {
  for (int a = 0; a < A; a++) {
    c.lam->v[a] = all(a ? NEVER : 0), c.alpha[0].v[a] = all(a == 0);
    for (int m = 0; m < M; m++) c.x[0].v[a][m] = all(a ? 0 : bottom[m]);
  }
}

/* Step j of n. The step's logits and vectors are row `row` of the lane's; a lane with active[lane] == 0 keeps its stack. */
static void forward_step(chart c, int j, int64_t row, const int *active, const REAL **logits, const REAL **vectors) {
  int n = c.n;
  each lam = *c.lam;
  {
    vec joint[A][C];
    for (int a = 0; a < A; a++)
      for (int i = 0; i < C; i++) {
        vec value;
        for (int lane = 0; lane < LANES; lane++)
          value[lane] = active[lane] ? logits[lane][row * A * C + a * C + i] : i == A + a ? 0 : NEVER;
        joint[a][i] = lam.v[a] + larger(value, all(NEVER));
      }
    moves *rho = c.rho + j, *psi = c.psi + j;
    vec log_total[A], keep_scale[A], pop_scale[Q], pop_sum[S][Q];
    for (int to = 0; to < A; to++) {
      vec high = larger(joint[0][to], joint[0][A + to]), sum = all(0);
      for (int from = 1; from < A; from++) high = larger(high, larger(joint[from][to], joint[from][A + to]));
      for (int from = 0; from < A; from++) {
        psi->v[from][to] = vexp(joint[from][to] - high), rho->v[from][to] = vexp(joint[from][A + to] - high);
        sum += psi->v[from][to] + rho->v[from][to];
      }
      keep_scale[to] = high, log_total[to] = high + vlog(sum);
    }
    memset(pop_sum, 0, sizeof pop_sum);
    if (j > 1) {
      closes *h = h_row(c.h, j);
      for (int r = 0; r < Q; r++) {
        pop_scale[r] = joint[0][2 * A + r];
        for (int from = 1; from < A; from++) pop_scale[r] = larger(pop_scale[r], joint[from][2 * A + r]);
        for (int t = 0; t < Q; t++)
          for (int y = 0; y < S; y++) h[j - 1].v[y][t][r] = vexp(joint[t * S + y][2 * A + r] - pop_scale[r]);
      }
      for (int k = j - 2; k >= 1; k--) {
        const moves *next = c.rho + k + 1;
        const closes *kappa = kappa_row(c.kappa, n, k);
        for (int y = 0; y < S; y++) {
          vec sum[Q][Q];
          memset(sum, 0, sizeof sum);
          for (int y2 = 0; y2 < S; y2++)
            for (int t2 = 0; t2 < Q; t2++)
              for (int t = 0; t < Q; t++)
                for (int r = 0; r < Q; r++) sum[t][r] += next->v[t * S + y][t2 * S + y2] * h[k + 1].v[y2][t2][r];
          for (int l = k + 2; l < j; l++)
            for (int t2 = 0; t2 < Q; t2++)
              for (int t = 0; t < Q; t++)
                for (int r = 0; r < Q; r++) sum[t][r] += kappa[l].v[y][t][t2] * h[l].v[y][t2][r];
          memcpy(h[k].v[y], sum, sizeof sum);
        }
      }
      /* Openings: push at k + 1, then the walk to the pop. Kept unscaled in kappa for now. */
      for (int k = 0; k <= j - 2; k++) {
        const moves *next = c.psi + k + 1;
        closes *close = kappa_row(c.kappa, n, k) + j;
        for (int y = 0; y < S; y++) {
          vec sum[Q][Q];
          memset(sum, 0, sizeof sum);
          for (int y2 = 0; y2 < S; y2++)
            for (int t2 = 0; t2 < Q; t2++)
              for (int t = 0; t < Q; t++)
                for (int r = 0; r < Q; r++) sum[t][r] += next->v[t * S + y][t2 * S + y2] * h[k + 1].v[y2][t2][r];
          for (int t = 0; t < Q; t++)
            for (int r = 0; r < Q; r++) close->v[y][t][r] = sum[t][r], pop_sum[y][r] += sum[t][r];
        }
      }
    }
    vec high = all(NEVER * 4);
    for (int to = 0; to < A; to++) {
      int r = to / S, y = to % S;
      vec factor = all(0);
      if (j > 1) {
        ivec possible = pop_sum[y][r] > all(TINY);
        vec closed = choose(possible, pop_scale[r] + vlog(larger(pop_sum[y][r], all(TINY))), all(NEVER));
        log_total[to] = vlogadd(log_total[to], closed);
        /* exp of up to 88 or 700 only, which `possible` ensures */
        factor = choose(possible, vexp(choose(possible, pop_scale[r] - log_total[to], all(0))), all(0));
      }
      c.scale[j].v[to] = factor;
      vec keep = vexp(keep_scale[to] - log_total[to]);
      for (int from = 0; from < A; from++) rho->v[from][to] *= keep, psi->v[from][to] *= keep;
      high = larger(high, log_total[to]);
    }
    vec sum = all(0);
    for (int a = 0; a < A; a++) sum += vexp(log_total[a] - high);
    vec norm = high + vlog(sum);
    tops *x = c.x + j;
    for (int a = 0; a < A; a++) {
      lam.v[a] = larger(log_total[a] - norm, all(NEVER)), c.alpha[j].v[a] = vexp(lam.v[a]);
      vec pushed = all(0);
      for (int from = 0; from < A; from++) pushed += psi->v[from][a];
      for (int m = 0; m < M; m++) {
        vec value;
        for (int lane = 0; lane < LANES; lane++) value[lane] = vectors[lane][row * M + m];
        value *= pushed;
        for (int from = 0; from < A; from++) value += rho->v[from][a] * c.x[j - 1].v[from][m];
        x->v[a][m] = value;
      }
    }
    for (int k = 0; k <= j - 2; k++) {
      closes *close = kappa_row(c.kappa, n, k) + j;
      for (int y = 0; y < S; y++)
        for (int t = 0; t < Q; t++)
          for (int r = 0; r < Q; r++) {
            vec weight = close->v[y][t][r] *= c.scale[j].v[r * S + y];
            for (int m = 0; m < M; m++) x->v[r * S + y][m] += weight * c.x[k].v[t * S + y][m];
          }
    }
  }
  *c.lam = lam;
}

static void write_reading(chart c, int j, int64_t row, int lanes, REAL **readings) {
  for (int a = 0; a < A; a++)
    for (int m = 0; m < M; m++) {
      vec value = c.alpha[j].v[a] * c.x[j].v[a][m];
      for (int lane = 0; lane < lanes; lane++) readings[lane][row * A * M + a * M + m] = value[lane];
    }
}

/* Accumulated gradients, each named after what it belongs to. */
typedef struct {
  moves *rho, *psi;
  tops *x;
  closes *kappa, *h;
  each *lam;
} gradients;

int64_t stack_scratch(int n) { /* in REALs, for one group; to be filled with zeros */
  return ((int64_t)(n + 1) * (2 * sizeof(moves) + sizeof(tops) + sizeof(closes)) + sizeof(each) + pairs(n) * sizeof(closes)) / sizeof(REAL);
}

static gradients lay_out_gradients(REAL *memory, int n) {
  gradients g;
  char *p = (char *)memory;
  g.rho = (moves *)p, p += (n + 1) * sizeof(moves);
  g.psi = (moves *)p, p += (n + 1) * sizeof(moves);
  g.x = (tops *)p, p += (n + 1) * sizeof(tops);
  g.h = (closes *)p, p += (n + 1) * sizeof(closes);
  g.lam = (each *)p, p += sizeof(each);
  g.kappa = (closes *)p;
  return g;
}

/* Step j backwards; `grad` is the gradient of its reading. Gradients are written to row `row` of the lane's. */
static void backward_step(chart c, gradients g, int j, int64_t row, int lanes, const int *active, const REAL **vectors,
                          const vec grad[A][M], REAL **grad_logits, REAL **grad_vectors) {
  int n = c.n;
  vec *grad_lam = g.lam->v;
  {
    moves *rho = c.rho + j, *psi = c.psi + j, *grad_rho = g.rho + j, *grad_psi = g.psi + j;
    tops *x = c.x + j, *before = c.x + j - 1, *grad_x = g.x + j, *grad_before = g.x + j - 1;
    vec total[A], pushed[A], lam_sum = all(0), grad_vector[M], vector[M];
    for (int m = 0; m < M; m++) {
      grad_vector[m] = all(0);
      for (int lane = 0; lane < LANES; lane++) vector[m][lane] = vectors[lane][row * M + m];
    }
    for (int a = 0; a < A; a++) {
      vec alpha = c.alpha[j].v[a], inner = all(0);
      for (int m = 0; m < M; m++) {
        vec value = grad[a][m];
        grad_x->v[a][m] += alpha * value, inner += value * x->v[a][m];
      }
      grad_lam[a] += alpha * inner, lam_sum += grad_lam[a];
    }
    /* The expected top vector. */
    for (int to = 0; to < A; to++) {
      vec by_push = all(0);
      total[to] = pushed[to] = all(0);
      for (int m = 0; m < M; m++) by_push += grad_x->v[to][m] * vector[m];
      for (int from = 0; from < A; from++) {
        vec by_replace = all(0);
        for (int m = 0; m < M; m++) {
          by_replace += grad_x->v[to][m] * before->v[from][m];
          grad_before->v[from][m] += rho->v[from][to] * grad_x->v[to][m];
        }
        grad_rho->v[from][to] += by_replace, grad_psi->v[from][to] += by_push;
        pushed[to] += psi->v[from][to];
        total[to] += grad_rho->v[from][to] * rho->v[from][to] + grad_psi->v[from][to] * psi->v[from][to];
      }
      for (int m = 0; m < M; m++) grad_vector[m] += pushed[to] * grad_x->v[to][m];
    }
    for (int k = 0; k <= j - 2; k++) {
      const closes *close = kappa_row(c.kappa, n, k) + j;
      closes *grad_close = kappa_row(g.kappa, n, k) + j;
      for (int y = 0; y < S; y++)
        for (int t = 0; t < Q; t++)
          for (int r = 0; r < Q; r++) {
            vec inner = grad_close->v[y][t][r], weight = close->v[y][t][r];
            for (int m = 0; m < M; m++) {
              inner += grad_x->v[r * S + y][m] * c.x[k].v[t * S + y][m];
              g.x[k].v[t * S + y][m] += weight * grad_x->v[r * S + y][m];
            }
            grad_close->v[y][t][r] = inner, total[r * S + y] += inner * weight;
          }
    }
    /* The normaliser, and the logits of push and replace. */
    vec shift[A], grad_from[A];
    for (int to = 0; to < A; to++) shift[to] = grad_lam[to] - total[to] - c.alpha[j].v[to] * lam_sum;
    memset(grad_from, 0, sizeof grad_from);
    for (int from = 0; from < A; from++)
      for (int to = 0; to < A; to++) {
        vec push = psi->v[from][to] * (grad_psi->v[from][to] + shift[to]);
        vec replace = rho->v[from][to] * (grad_rho->v[from][to] + shift[to]);
        grad_from[from] += push + replace;
        for (int lane = 0; lane < lanes; lane++) {
          REAL *out = grad_logits[lane] + row * A * C + from * C;
          out[to] = active[lane] ? push[lane] : 0, out[A + to] = active[lane] ? replace[lane] : 0;
        }
      }
    /* Back along the walk from the pop of this step to the openings. */
    const closes *h = h_row(c.h, j);
    memset(g.h, 0, j * sizeof(closes));
    for (int k = 0; k <= j - 2; k++) {
      closes *grad_close = kappa_row(g.kappa, n, k) + j;
      for (int y = 0; y < S; y++)
        for (int t = 0; t < Q; t++)
          for (int r = 0; r < Q; r++)
            grad_close->v[y][t][r] = (grad_close->v[y][t][r] + shift[r * S + y]) * c.scale[j].v[r * S + y];
      const moves *opened = c.psi + k + 1, *replaced = c.rho + k + 1;
      moves *grad_opened = g.psi + k + 1, *grad_replaced = g.rho + k + 1;
      closes *grad_next = g.h + k + 1, *here = g.h + k;
      for (int y = 0; y < S; y++)
        for (int t = 0; t < Q; t++)
          for (int y2 = 0; y2 < S; y2++)
            for (int t2 = 0; t2 < Q; t2++) {
              int from = t * S + y, to = t2 * S + y2;
              vec by_push = all(0), by_replace = all(0);
              for (int r = 0; r < Q; r++) {
                by_push += grad_close->v[y][t][r] * h[k + 1].v[y2][t2][r];
                by_replace += here->v[y][t][r] * h[k + 1].v[y2][t2][r];
                grad_next->v[y2][t2][r] += opened->v[from][to] * grad_close->v[y][t][r];
                if (k) grad_next->v[y2][t2][r] += replaced->v[from][to] * here->v[y][t][r];
              }
              grad_opened->v[from][to] += by_push;
              if (k) grad_replaced->v[from][to] += by_replace;
            }
      if (!k) continue;
      const closes *kappa = kappa_row(c.kappa, n, k);
      closes *grad_kappa = kappa_row(g.kappa, n, k);
      for (int y = 0; y < S; y++)
        for (int l = k + 2; l < j; l++)
          for (int t2 = 0; t2 < Q; t2++) {
            vec sum[Q];
            for (int r = 0; r < Q; r++) sum[r] = g.h[l].v[y][t2][r];
            for (int t = 0; t < Q; t++) {
              vec inner = grad_kappa[l].v[y][t][t2];
              for (int r = 0; r < Q; r++) {
                inner += here->v[y][t][r] * h[l].v[y][t2][r];
                sum[r] += kappa[l].v[y][t][t2] * here->v[y][t][r];
              }
              grad_kappa[l].v[y][t][t2] = inner;
            }
            for (int r = 0; r < Q; r++) g.h[l].v[y][t2][r] = sum[r];
          }
    }
    for (int from = 0; from < A; from++)
      for (int r = 0; r < Q; r++) {
        vec pop = j > 1 ? h[j - 1].v[from % S][from / S][r] * g.h[j - 1].v[from % S][from / S][r] : all(0);
        grad_from[from] += pop;
        for (int lane = 0; lane < lanes; lane++)
          grad_logits[lane][row * A * C + from * C + 2 * A + r] = active[lane] ? pop[lane] : 0;
      }
    memcpy(grad_lam, grad_from, sizeof grad_from);
    for (int m = 0; m < M; m++)
      for (int lane = 0; lane < lanes; lane++) grad_vectors[lane][row * M + m] = grad_vector[m][lane];
  }
}

/* The sequences of a group stand at `first` and after in `order`; lanes beyond the batch repeat the last sequence. Groups
   are independent of each other, so that no result depends on the number of threads. */
#define SEQUENCE order[first + lane < batch ? first + lane : batch - 1]
#define EACH_GROUP for (int first = 0; first < batch; first += LANES)
#define REAL_LANES (batch - first < LANES ? batch - first : LANES)

/* Whole sequences of n steps. lengths: after so many steps the stack of a sequence stays as it is; a group stops at the
   longest of its own. memory_at[g]: where group g's memory begins. */
void stack_forward(int batch, int n, const int *order, const int *lengths, const int64_t *memory_at, const REAL *logits,
                   const REAL *vectors, const REAL *bottom, REAL *readings, REAL *memory, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    const REAL *l[LANES], *v[LANES];
    REAL *out[LANES];
    int length[LANES], active[LANES], longest = 0;
    for (int lane = 0; lane < LANES; lane++) {
      int64_t s = SEQUENCE;
      l[lane] = logits + s * n * A * C, v[lane] = vectors + s * n * M, out[lane] = readings + s * (n + 1) * A * M;
      length[lane] = lengths[s], longest = length[lane] > longest ? length[lane] : longest;
    }
    chart c = lay_out(memory + memory_at[first / LANES], longest);
    begin_group(c, bottom);
    for (int j = 0; j <= n; j++) {
      for (int lane = 0; lane < LANES; lane++) active[lane] = j <= length[lane];
      if (j && j <= longest) forward_step(c, j, j - 1, active, l, v);
      write_reading(c, j < longest ? j : longest, j, REAL_LANES, out);
    }
  }
}

/* Gradients of steps after the last of a group are left as they are: the caller fills them with zeros. */
void stack_backward(int batch, int n, const int *order, const int *lengths, const int64_t *memory_at, const REAL *vectors,
                    const REAL *grad, REAL *memory, const int64_t *scratch_at, REAL *scratch, REAL *grad_logits,
                    REAL *grad_vectors, REAL *grad_bottom, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    const REAL *v[LANES], *up[LANES];
    REAL *dl[LANES], *dv[LANES];
    int length[LANES], active[LANES], longest = 0, lanes = REAL_LANES;
    for (int lane = 0; lane < LANES; lane++) {
      int64_t s = SEQUENCE;
      v[lane] = vectors + s * n * M, up[lane] = grad + s * (n + 1) * A * M;
      dl[lane] = grad_logits + s * n * A * C, dv[lane] = grad_vectors + s * n * M;
      length[lane] = lengths[s], longest = length[lane] > longest ? length[lane] : longest;
    }
    chart c = lay_out(memory + memory_at[first / LANES], longest);
    gradients g = lay_out_gradients(scratch + scratch_at[first / LANES], longest);
    vec reading[A][M];
    for (int j = longest; j >= 0; j--) {
      for (int a = 0; a < A; a++)
        for (int m = 0; m < M; m++) {
          reading[a][m] = all(0);
          /* Readings after the last step are the last one. */
          for (int lane = 0; lane < lanes; lane++)
            for (int later = j; later <= (j < longest ? j : n); later++)
              reading[a][m][lane] += up[lane][(int64_t)later * A * M + a * M + m];
        }
      for (int lane = 0; lane < LANES; lane++) active[lane] = j <= length[lane];
      if (j) backward_step(c, g, j, j - 1, lanes, active, v, reading, dl, dv);
    }
    for (int lane = 0; lane < lanes; lane++)
      for (int m = 0; m < M; m++) grad_bottom[(int64_t)SEQUENCE * M + m] = g.x[0].v[0][m][lane] + reading[0][m][lane];
  }
}

/* The same step by step, for at most n steps of the whole batch; every group has the memory of n steps. */
void stack_begin(int batch, int n, const REAL *bottom, REAL *memory) {
  EACH_GROUP begin_group(lay_out(memory + first / LANES * stack_memory(n), n), bottom);
}

void stack_step_forward(int batch, int n, int j, const REAL *logits, const REAL *vectors, REAL *reading, REAL *memory, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    const REAL *l[LANES], *v[LANES];
    REAL *out[LANES];
    int active[LANES];
    for (int lane = 0; lane < LANES; lane++) {
      int64_t s = first + lane < batch ? first + lane : batch - 1;
      l[lane] = logits + s * A * C, v[lane] = vectors + s * M, out[lane] = reading + s * A * M, active[lane] = 1;
    }
    chart c = lay_out(memory + first / LANES * stack_memory(n), n);
    forward_step(c, j, 0, active, l, v);
    write_reading(c, j, 0, REAL_LANES, out);
  }
}

void stack_step_backward(int batch, int n, int j, const REAL *vectors, const REAL *grad, REAL *memory, REAL *scratch,
                         REAL *grad_logits, REAL *grad_vectors, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  EACH_GROUP {
    const REAL *v[LANES];
    REAL *dl[LANES], *dv[LANES];
    int active[LANES], lanes = REAL_LANES;
    vec reading[A][M];
    memset(reading, 0, sizeof reading);
    for (int lane = 0; lane < LANES; lane++) {
      int64_t s = first + lane < batch ? first + lane : batch - 1;
      v[lane] = vectors + s * M, dl[lane] = grad_logits + s * A * C, dv[lane] = grad_vectors + s * M, active[lane] = 1;
      if (lane < lanes)
        for (int i = 0; i < A * M; i++) reading[i / M][i % M][lane] = grad[s * A * M + i];
    }
    chart c = lay_out(memory + first / LANES * stack_memory(n), n);
    gradients g = lay_out_gradients(scratch + first / LANES * stack_scratch(n), n);
    backward_step(c, g, j, 0, lanes, active, v, reading, dl, dv);
  }
}

/* Gradient [batch, M] of the bottom vector from all steps. */
void stack_bottom(int batch, int n, REAL *scratch, REAL *grad_bottom) {
  EACH_GROUP {
    gradients g = lay_out_gradients(scratch + first / LANES * stack_scratch(n), n);
    for (int lane = 0; lane < REAL_LANES; lane++)
      for (int m = 0; m < M; m++) grad_bottom[(int64_t)(first + lane) * M + m] = g.x[0].v[0][m][lane];
  }
}
