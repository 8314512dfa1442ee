/* The superposition stack, compiled: the same numbers as stack_superposition.py, with their hand-written reverse.

One sequence is one piece of work. A stack is rows of `size` numbers from the top down, one after the other in memory, so that
push, no-op and pop are three shifts of one array and every loop runs over all rows at once. Row 0 is where the vector that the
next step pushes is put; two rows of zeros follow the last. An element deeper than the number of steps to come cannot surface
any more, so that only min(t, n - t + 1) rows are kept after step t of n.

Compile-time constant: REAL (float or double).
*/

#include <omp.h>
#include <stdint.h>
#include <string.h>

#define SPARE 3 /* row 0 and the zeros */

static inline int64_t height(int t, int n) { return t < n - t + 1 ? t : n - t + 1; }

/* Rows of all stacks of a sequence of n steps, from time 0 to n. */
int64_t stack_rows(int n) { return (int64_t)(n + 1) * (n + 1) / 4 + SPARE * (n + 1); }

/* Rows that the reverse of n steps needs: two gradients, each with two rows of zeros before and after. */
int64_t scratch_rows(int n) { return 2 * (height((n + 1) / 2, n) + 4); }

/* The stack is left as it is after n of the `steps` steps. */
static void forward_sequence(int n, int steps, int64_t size, const REAL *actions, const REAL *vectors, REAL *readings, REAL *stack) {
  int64_t row = size * sizeof(REAL);
  memset(stack, 0, SPARE * row), memset(readings, 0, row);
  for (int t = 1; t <= n; t++) {
    REAL push = actions[3 * t - 3], keep = actions[3 * t - 2], pop = actions[3 * t - 1];
    const REAL *old = stack;
    memcpy(stack, vectors + (t - 1) * size, row);
    stack += (height(t - 1, n) + SPARE) * size;
    REAL *new = stack + size;
    int64_t count = height(t, n) * size;
#pragma omp simd
    for (int64_t i = 0; i < count; i++) new[i] = push * old[i] + keep * old[i + size] + pop * old[i + 2 * size];
    memset(new + count, 0, 2 * row);
    memcpy(readings + t * size, new, row);
  }
  for (int t = n + 1; t <= steps; t++) memcpy(readings + t * size, readings + n * size, row);
}

static void backward_sequence(int n, int steps, int64_t size, const REAL *actions, const REAL *grad, const REAL *stack, REAL *scratch,
                              REAL *grad_actions, REAL *grad_vectors) {
  int64_t row = size * sizeof(REAL);
  REAL *later = scratch + size, *earlier = later + scratch_rows(n) / 2 * size; /* gradients of the stacks after t and t - 1 */
  memset(scratch, 0, scratch_rows(n) * row);
  stack += (stack_rows(n) - height(n, n) - SPARE) * size;
  for (int t = n; t >= 1; t--) {
    for (int last = t; last <= (t < n ? t : steps); last++)
      for (int64_t i = 0; i < size; i++) later[size + i] += grad[last * size + i];
    stack -= (height(t - 1, n) + SPARE) * size;
    REAL push = actions[3 * t - 3], keep = actions[3 * t - 2], pop = actions[3 * t - 1];
    REAL grad_push = 0, grad_keep = 0, grad_pop = 0;
    int64_t count = (height(t - 1, n) + 1) * size;
#pragma omp simd reduction(+ : grad_push, grad_keep, grad_pop)
    for (int64_t i = 0; i < count; i++) {
      REAL pushed = later[i + size], kept = later[i], popped = later[i - size];
      earlier[i] = push * pushed + keep * kept + pop * popped;
      grad_push += pushed * stack[i], grad_keep += kept * stack[i], grad_pop += popped * stack[i];
    }
    grad_actions[3 * t - 3] = grad_push, grad_actions[3 * t - 2] = grad_keep, grad_actions[3 * t - 1] = grad_pop;
    memcpy(grad_vectors + (t - 1) * size, earlier, row);
    memset(earlier, 0, row);
    REAL *swap = later;
    later = earlier, earlier = swap;
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
