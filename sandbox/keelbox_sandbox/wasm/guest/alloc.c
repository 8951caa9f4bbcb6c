/* The heap: counts what the engine takes from the system and refuses beyond the run's limit.
 *
 * Beyond the limit the script gets one catchable out-of-memory error; a reserve then lets it handle that error. The next refusal
 * ends the run by a trap: the host finds the reason in state.memory_refusals_count. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "guest.h"

#define RESERVE_BYTES (256 * 1024) /* enough for an Error, its stack text, a push and a log line in a catch block */

static uint32_t limit_bytes = UINT32_MAX;

void heap_set_limit(uint32_t bytes) { limit_bytes = bytes; }

static int refuse(void) {
    if (state.memory_refusals_count++ > 0) __builtin_trap();
    limit_bytes = limit_bytes > UINT32_MAX - RESERVE_BYTES ? UINT32_MAX : limit_bytes + RESERVE_BYTES;
    return 1;
}

static int over(size_t more) { return more > limit_bytes || state.heap_bytes > limit_bytes - more; }

static void *counted(void *p) {
    if (!p) { refuse(); return NULL; } /* the linear memory's maximum: the second wall, seen like the first */
    state.heap_bytes += malloc_usable_size(p);
    if (state.heap_bytes > state.heap_peak_bytes) state.heap_peak_bytes = state.heap_bytes;
    return p;
}

static void *heap_malloc(void *opaque, size_t n) { return over(n) && refuse() ? NULL : counted(malloc(n)); }

static void *heap_calloc(void *opaque, size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) n = SIZE_MAX;
    return over(n) && refuse() ? NULL : counted(calloc(count, size));
}

static void heap_free(void *opaque, void *p) {
    if (!p) return;
    state.heap_bytes -= malloc_usable_size(p);
    free(p);
}

static void *heap_realloc(void *opaque, void *p, size_t n) {
    if (!p) return heap_malloc(opaque, n);
    size_t had = malloc_usable_size(p);
    if (n > had && over(n - had) && refuse()) return NULL;
    void *q = realloc(p, n);
    if (!q) { refuse(); return NULL; }
    state.heap_bytes -= had;
    return counted(q);
}

static size_t heap_usable(const void *p) { return malloc_usable_size((void *)p); }

const JSMallocFunctions heap_functions = {heap_calloc, heap_malloc, heap_free, heap_realloc, heap_usable};

void heap_collect_early(void) {
    /* The engine doubles its threshold past the limit, so cyclic garbage would be refused memory that a collection frees. */
    size_t threshold = JS_GetGCThreshold(rt);
    if (threshold > limit_bytes && state.heap_bytes < limit_bytes)
        JS_SetGCThreshold(rt, state.heap_bytes + (limit_bytes - state.heap_bytes) / 2);
}
