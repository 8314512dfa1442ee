/* The superposition stack, compiled: the same numbers as stack_superposition.py, with their hand-written reverse.

One sequence is one piece of work. A stack is rows of `size` numbers from the top down, one after the other in memory, so that
push, no-op and pop are three shifts of one array and every loop runs over all rows at once. Row 0 is where the vector that the
next step pushes is put; two rows of zeros follow the last. An element deeper than the number of steps to come cannot surface
any more, so that only min(t, n - t + 1) rows are kept after step t of n. The stacks after steps 0, 1, ..., n lie one after the other.

Compile-time constant: REAL (float or double).
*/

#include <omp.h>
#include <stdint.h>
#include <string.h>

#define SPARE 3 /* row 0 and the zeros */

static inline int64_t height(int t, int n) { return t < n - t + 1 ? t : n - t + 1; }

/* Rows of the stacks of a sequence of n steps before the one after step t. */
static int64_t rows_before(int t, int n) {
  int64_t rows = 0;
  for (int i = 0; i < t; i++) rows += height(i, n) + SPARE;
  return rows;
}

/* Rows of all stacks of a sequence of n steps. */
int64_t stack_rows(int n) { return rows_before(n + 1, n); }

/* Rows that the reverse of n steps needs: two gradients, each with two rows of zeros before and after. */
int64_t scratch_rows(int n) { return 2 * (height((n + 1) / 2, n) + 4); }

/* Gradient of the stack after step t, from its row 0 on. Those of even and of odd steps take turns. */
static REAL *gradient(int t, int n, int64_t size, REAL *scratch) { return scratch + (t % 2 * scratch_rows(n) / 2 + 1) * size; }

static void begin(int64_t size, REAL *stack) { memset(stack, 0, SPARE * size * sizeof(REAL)); }

/* Step t of n, from the stack before it; returns the stack after it. */
static REAL *forward_step(int t, int n, int64_t size, const REAL *actions, const REAL *vector, REAL *reading, REAL *stack) {
  int64_t row = size * sizeof(REAL), count = height(t, n) * size;
  REAL push = actions[0], keep = actions[1], pop = actions[2];
  memcpy(stack, vector, row);
  const REAL *old = stack;
  REAL *next = stack + (height(t - 1, n) + SPARE) * size, *new = next + size;
#pragma omp simd
  for (int64_t i = 0; i < count; i++) new[i] = push * old[i] + keep * old[i + size] + pop * old[i + 2 * size];
  memset(new + count, 0, 2 * row);
  memcpy(reading, new, row);
  return next;
}

/* The reverse of `forward_step`: `stack` is the one before the step, `grad` the gradient of the reading. */
static void backward_step(int t, int n, int64_t size, const REAL *actions, const REAL *grad, const REAL *stack, REAL *scratch,
                          REAL *grad_actions, REAL *grad_vector) {
  REAL *later = gradient(t, n, size, scratch), *earlier = gradient(t - 1, n, size, scratch);
  REAL push = actions[0], keep = actions[1], pop = actions[2];
  REAL grad_push = 0, grad_keep = 0, grad_pop = 0;
  int64_t row = size * sizeof(REAL), count = (height(t - 1, n) + 1) * size;
  for (int64_t i = 0; i < size; i++) later[size + i] += grad[i];
#pragma omp simd reduction(+ : grad_push, grad_keep, grad_pop)
  for (int64_t i = 0; i < count; i++) {
    REAL pushed = later[i + size], kept = later[i], popped = later[i - size];
    earlier[i] = push * pushed + keep * kept + pop * popped;
    grad_push += pushed * stack[i], grad_keep += kept * stack[i], grad_pop += popped * stack[i];
  }
  grad_actions[0] = grad_push, grad_actions[1] = grad_keep, grad_actions[2] = grad_pop;
  memcpy(grad_vector, earlier, row);
  memset(earlier, 0, row);
}

/* The stack is left as it is after n of the `steps` steps. */
static void forward_sequence(int n, int steps, int64_t size, const REAL *actions, const REAL *vectors, REAL *readings, REAL *stack) {
  int64_t row = size * sizeof(REAL);
  begin(size, stack), memset(readings, 0, row);
  for (int t = 1; t <= n; t++)
    stack = forward_step(t, n, size, actions + 3 * t - 3, vectors + (t - 1) * size, readings + t * size, stack);
  for (int t = n + 1; t <= steps; t++) memcpy(readings + t * size, readings + n * size, row);
}

static void backward_sequence(int n, int steps, int64_t size, const REAL *actions, const REAL *grad, const REAL *stack, REAL *scratch,
                              REAL *grad_actions, REAL *grad_vectors) {
  memset(scratch, 0, scratch_rows(n) * size * sizeof(REAL));
  for (int t = steps; t > n; t--)
    for (int64_t i = 0; i < size; i++) gradient(n, n, size, scratch)[size + i] += grad[t * size + i];
  stack += rows_before(n, n) * size;
  for (int t = n; t >= 1; t--) {
    stack -= (height(t - 1, n) + SPARE) * size;
    backward_step(t, n, size, actions + 3 * t - 3, grad + t * size, stack, scratch, grad_actions + 3 * t - 3,
                  grad_vectors + (t - 1) * size);
  }
}

/* memory: stack_rows(n) rows for each sequence. */
void stack_forward(int batch, int n, int size, const int *lengths, const REAL *actions, const REAL *vectors, REAL *readings,
                   REAL *memory, int threads) {
  int64_t rows = stack_rows(n);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t s = 0; s < batch; s++)
    forward_sequence(lengths[s], n, size, actions + s * n * 3, vectors + s * n * size, readings + s * (n + 1) * size,
                     memory + s * rows * size);
}

/* scratch: scratch_rows(n) rows for each thread. Gradients of steps after a sequence's length are left as they are: the caller
   fills them with zeros. */
void stack_backward(int batch, int n, int size, const int *lengths, const REAL *actions, const REAL *grad, const REAL *memory,
                    REAL *scratch, REAL *grad_actions, REAL *grad_vectors, int threads) {
  int64_t rows = stack_rows(n), own = scratch_rows(n) * size;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t s = 0; s < batch; s++)
    backward_sequence(lengths[s], n, size, actions + s * n * 3, grad + s * (n + 1) * size, memory + s * rows * size,
                      scratch + omp_get_thread_num() * own, grad_actions + s * n * 3, grad_vectors + s * n * size);
}

/* The same step by step, for at most n steps of the whole batch; memory and scratch hold the rows of n steps for each sequence. */
void stack_begin(int batch, int n, int size, REAL *memory) {
  for (int64_t s = 0; s < batch; s++) begin(size, memory + s * stack_rows(n) * size);
}

void stack_step_forward(int batch, int n, int size, int t, const REAL *actions, const REAL *vectors, REAL *readings, REAL *memory,
                        int threads) {
  int64_t rows = stack_rows(n), before = rows_before(t - 1, n);
#pragma omp parallel for num_threads(threads)
  for (int64_t s = 0; s < batch; s++)
    forward_step(t, n, size, actions + s * 3, vectors + s * size, readings + s * size, memory + (s * rows + before) * size);
}

/* scratch: zeros before the first call of a backward pass. */
void stack_step_backward(int batch, int n, int size, int t, const REAL *actions, const REAL *grad, const REAL *memory, REAL *scratch,
                         REAL *grad_actions, REAL *grad_vectors, int threads) {
  int64_t rows = stack_rows(n), before = rows_before(t - 1, n), own = scratch_rows(n);
#pragma omp parallel for num_threads(threads)
  for (int64_t s = 0; s < batch; s++)
    backward_step(t, n, size, actions + s * 3, grad + s * size, memory + (s * rows + before) * size, scratch + s * own * size,
                  grad_actions + s * 3, grad_vectors + s * size);
}
